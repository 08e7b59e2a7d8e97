/* One row a word: systems, programs, phases, versions, settings with a value. */
#include "diagnose/context_words.h"

#include <stdlib.h>
#include <string.h>

#include "diagnose/talk.h"

/* --- what stands behind a word -------------------------------------------------------------------------------- */

plim__text plim__value_of(plim__text t) {
    while (t.at < t.end && strchr(" \t\"'`:=*_>", *t.at) && *t.at) t.at++;
    static const char *const fillers[] = {"\xE8\xAE\xBE\xE7\xBD\xAE\xE4\xB8\xBA",
                                          "\xE8\xAE\xBE\xE4\xB8\xBA",
                                          "\xE4\xB8\xBA",
                                          "of ",
                                          "is set to ",
                                          "was already ",
                                          "is already ",
                                          "already ",
                                          "is ",
                                          "to ",
                                          "version ",
                                          "was set to ",
                                          "was ",
                                          "set to "};
    for (size_t i = 0; i < sizeof fillers / sizeof *fillers; i++)
        if (plim__take(&t, fillers[i])) break;
    while (t.at < t.end && strchr(" \t\"'`:=*v", *t.at) && *t.at) t.at++;
    return t;
}

/* A name of its own: not the end of a word and the beginning of the next ("fine-tune the" has no "unet"). */
static void read_name(plim__context *context, plim__word_place at) {
    size_t length = strlen(at.word);
    if ((size_t)(at.before.end - at.before.at) < length) return;
    const char *start = at.before.end - length;
    for (size_t i = 0; i < length; i++)
        if ((start[i] | 32) != (at.word[i] | 32)) return;
    bool inside = start > at.before.at && ((start[-1] | 32) >= 'a' && (start[-1] | 32) <= 'z');
    if (!inside) plim__context_set(context, at.means);
}

/* "I train on", "to train": the verb, not "trained" or "trainable". */
static void read_train(plim__context *context, plim__word_place at) {
    bool ends = at.after.at >= at.after.end || *at.after.at == ' ' || *at.after.at == '\n' || *at.after.at == '`';
    if (ends) read_name(context, at);
}

/* Darknet takes batch / subdivisions images at a time: 64 is one of the usual 64. */
static void read_subdivisions(plim__context *context, plim__word_place at) {
    plim__text after = at.after;
    int64_t count;
    after = plim__value_of(after);
    if (plim__take(&after, "%i", &count) && count >= 64) plim__context_set(context, PLIM_CONTEXT_SUBDIVIDED);
}

static void read_workers(plim__context *context, plim__word_place at) {
    plim__text after = at.after;
    int64_t count;
    after = plim__value_of(after);
    if (!plim__take(&after, "%i", &count) || count > 4096) return;
    context->workers = count;
    if (count == 0) plim__context_set(context, PLIM_CONTEXT_WORKERS_ZERO);
}

static int read_version(plim__text after) {
    int64_t major, minor;
    after = plim__value_of(after);
    if (!plim__take(&after, "%i.%i", &major, &minor) || major > 9 || minor > 99) return 0;
    return (int)(major * 100 + minor);
}

static void read_torch(plim__context *context, plim__word_place at) {
    plim__text after = at.after;
    int version = read_version(after);
    if (version && version < 400 && !context->torch) context->torch = version;
}

static void read_tensorflow(plim__context *context, plim__word_place at) {
    plim__text after = at.after;
    int version = read_version(after);
    if (version && version < 300 && !context->tensorflow) context->tensorflow = version;
    plim__context_set(context, PLIM_CONTEXT_TENSORFLOW);
}

/* "=0.0 to disable upper limit": the message's own advice, not a setting. */
static void read_watermark(plim__context *context, plim__word_place at) {
    plim__text after = at.after;
    if (!plim__take(&after, ".0 to disable")) plim__context_set(context, PLIM_CONTEXT_WATERMARK);
}

static void read_qlora(plim__context *context, plim__word_place at) {
    (void)at;
    plim__context_set(context, PLIM_CONTEXT_LORA);
}

static void read_protein(plim__context *context, plim__word_place at) {
    (void)at;
    plim__context_set(context, PLIM_CONTEXT_PROTEIN);
}

/* Sessions are TensorFlow 1's. */
static void read_sessions(plim__context *context, plim__word_place at) {
    (void)at;
    if (!context->tensorflow) context->tensorflow = 115;
}

static void read_memory(plim__context *context, plim__word_place at) {
    plim__text after = at.after;
    plim_amount amount;
    after = plim__value_of(after);
    if (plim__take(&after, "%S", &amount) && amount.known) context->memory_setting = amount;
}

static void read_heap(plim__context *context, plim__word_place at) {
    plim__text after = at.after;
    int64_t megabytes;
    after = plim__value_of(after);
    if (plim__take(&after, "%i", &megabytes) && megabytes > 0 && megabytes < 1 << 24)
        context->memory_setting = plim__rounded((double)megabytes * 1048576.0);
}

static double take_fraction(plim__text after) {
    char number[16];
    size_t length = 0;
    after = plim__value_of(after);
    plim__take(&after, "(");
    while (after.at < after.end && length + 1 < sizeof number && strchr("0123456789.", *after.at) && *after.at)
        number[length++] = *after.at++;
    number[length] = 0;
    double value = strtod(number, NULL);
    return value > 0 && value <= 1 ? value : 0;
}

static void read_fraction(plim__context *context, plim__word_place at) {
    plim__text after = at.after;
    double value = take_fraction(after);
    if (value > 0) context->utilization = value;
}

static void read_share(plim__context *context, plim__word_place at) {
    plim__text after = at.after;
    double value = take_fraction(after);
    if (value > 0) context->share = value;
}

const plim__word plim__words[] = {
    {"_save_to_state_dict", PLIM_CONTEXT_SAVE_TRACE, NULL, false},
    {"insave_checkpoint", PLIM_CONTEXT_SAVE_TRACE, NULL, false},
    {"insave_pretrained", PLIM_CONTEXT_SAVE_TRACE, NULL, false},
    {"in_save_checkpoint", PLIM_CONTEXT_SAVE_TRACE, NULL, false},
    {"merge_and_unload", PLIM_CONTEXT_SAVE_TRACE, NULL, false},
    {"jax", PLIM_CONTEXT_JAX, read_name, true},
    {"aminoacid", PLIM_CONTEXT_PROTEIN, NULL, false},
    {"multimer", PLIM_CONTEXT_PROTEIN, NULL, false},
    {"tofolda", PLIM_CONTEXT_PROTEIN, NULL, false},
    {"vaedecod", PLIM_CONTEXT_DIFFUSION, NULL, false},
    {"image-size", PLIM_CONTEXT_IMAGES, NULL, false},
    {"imagesize", PLIM_CONTEXT_IMAGES, NULL, false},
    {"--img", PLIM_CONTEXT_IMAGES, NULL, false},
    {"exllamav2", PLIM_CONTEXT_QUANTIZED, NULL, false},
    {"exllama", PLIM_CONTEXT_TEXTGEN, NULL, false},
    {"autogptq", PLIM_CONTEXT_TEXTGEN, NULL, false},
    {"oobabooga_windows", PLIM_CONTEXT_TEXTGEN, NULL, false},
    {"whichonedoyouwanttoload", PLIM_CONTEXT_LOADING, NULL, false},
    {"tryingtoload", PLIM_CONTEXT_LOADING, NULL, false},
    {"keepsusingmore", PLIM_CONTEXT_GROWS, NULL, false},
    {"usingmorememorywitheach", PLIM_CONTEXT_GROWS, NULL, false},
    {"morememorywitheach", PLIM_CONTEXT_GROWS, NULL, false},
    {"maskrcnn", PLIM_CONTEXT_DETECTION, NULL, false},
    {"mask_rcnn", PLIM_CONTEXT_DETECTION, NULL, false},
    {"faster_rcnn", PLIM_CONTEXT_DETECTION, NULL, false},
    {"mask-rcnn", PLIM_CONTEXT_DETECTION, NULL, false},
    {"imagesofsize", PLIM_CONTEXT_IMAGES, NULL, false},
    {"torch-gpu", PLIM_CONTEXT_PYTORCH, NULL, false},
    {"regardlessofwhatimage", PLIM_CONTEXT_INPUT_TRIED, NULL, false},
    {"regardlessoftheimage", PLIM_CONTEXT_INPUT_TRIED, NULL, false},
    {"tpu_estimator", PLIM_CONTEXT_TENSORFLOW, NULL, false},
    {"error:tensorflow", PLIM_CONTEXT_TENSORFLOW, NULL, false},
    {"terminatedwithanerrorexitstatus", PLIM_CONTEXT_NEXTFLOW, NULL, false},
    {"edge_index", PLIM_CONTEXT_GRAPHS, NULL, false},
    {"gcnconv", PLIM_CONTEXT_GRAPHS, NULL, false},
    {"graphsage", PLIM_CONTEXT_GRAPHS, NULL, false},
    {"graphneural", PLIM_CONTEXT_GRAPHS, NULL, false},
    {"adjacency", PLIM_CONTEXT_GRAPHS, NULL, false},
    {"to_dense_adj", PLIM_CONTEXT_GRAPHS, NULL, false},
    {"gnn", PLIM_CONTEXT_GRAPHS, read_name, true},
    {"gcn", PLIM_CONTEXT_GRAPHS, read_name, true},
    {"millionedges", PLIM_CONTEXT_GRAPHS, NULL, false},
    {"graphlearn", PLIM_CONTEXT_GRAPHS, NULL, false},
    {"pygat", PLIM_CONTEXT_GRAPHS, NULL, false},
    {"cogvideo", PLIM_CONTEXT_DIFFUSION, NULL, false},
    {"ltx-video", PLIM_CONTEXT_DIFFUSION, NULL, false},
    {"text-to-video", PLIM_CONTEXT_DIFFUSION, NULL, false},
    {"t2v", PLIM_CONTEXT_DIFFUSION, read_name, true},
    {"i2v", PLIM_CONTEXT_DIFFUSION, read_name, true},
    {"videogenerat", PLIM_CONTEXT_DIFFUSION, NULL, false},
    {"tensor-parallel-size", PLIM_CONTEXT_PARALLEL, NULL, false},
    {"tensor-model-parallel-size", PLIM_CONTEXT_PARALLEL, NULL, false},
    {"zero3", PLIM_CONTEXT_PARALLEL, NULL, false},
    {"zero_3", PLIM_CONTEXT_PARALLEL, NULL, false},
    {"ds_z3", PLIM_CONTEXT_PARALLEL, NULL, false},
    {"stage3.py", PLIM_CONTEXT_PARALLEL, NULL, false},
    {"fullyshardeddata", PLIM_CONTEXT_PARALLEL, NULL, false},
    {"fully_sharded", PLIM_CONTEXT_PARALLEL, NULL, false},
    {"tensor_parallel_size", PLIM_CONTEXT_PARALLEL, NULL, false},
    {".ipynb", PLIM_CONTEXT_NOTEBOOK, NULL, false},
    {"thepoch", PLIM_CONTEXT_LATER, NULL, false},
    {"ndepoch", PLIM_CONTEXT_LATER, NULL, false},
    {"afterseveralepoch", PLIM_CONTEXT_LATER, NULL, false},
    {"afterafewepoch", PLIM_CONTEXT_LATER, NULL, false},
    {"aftersomeepoch", PLIM_CONTEXT_LATER, NULL, false},
    {"afterfewepoch", PLIM_CONTEXT_LATER, NULL, false},
    {"afterseveraliteration", PLIM_CONTEXT_LATER, NULL, false},
    {"afterafewiteration", PLIM_CONTEXT_LATER, NULL, false},
    {"aftersomeiteration", PLIM_CONTEXT_LATER, NULL, false},
    {"afterseveralsteps", PLIM_CONTEXT_LATER, NULL, false},
    {"afterafewsteps", PLIM_CONTEXT_LATER, NULL, false},
    {"aftersometime", PLIM_CONTEXT_LATER, NULL, false},
    {"afterawhile", PLIM_CONTEXT_LATER, NULL, false},
    {"afterseveralhours", PLIM_CONTEXT_LATER, NULL, false},
    {"secondepoch", PLIM_CONTEXT_LATER, NULL, false},
    {"biggerandbigger", PLIM_CONTEXT_GROWS, NULL, false},
    {"growingusageofmemory", PLIM_CONTEXT_GROWS, NULL, false},
    {"esrgan", PLIM_CONTEXT_TILES, NULL, false},
    {"--tile", PLIM_CONTEXT_TILES, NULL, false},
    {"super-resolution", PLIM_CONTEXT_TILES, NULL, false},
    {"superresolution", PLIM_CONTEXT_TILES, NULL, false},
    {"swinir", PLIM_CONTEXT_TILES, NULL, false},
    {"gfpgan", PLIM_CONTEXT_TILES, NULL, false},
    {"tile_process", PLIM_CONTEXT_TILES, NULL, false},
    {"upscayl", PLIM_CONTEXT_TILES, NULL, false},
    {"nootherprocess", PLIM_CONTEXT_ALONE, NULL, false},
    {"nootherprogram", PLIM_CONTEXT_ALONE, NULL, false},
    {"nothingelseisrunning", PLIM_CONTEXT_ALONE, NULL, false},
    {"nothingelserunning", PLIM_CONTEXT_ALONE, NULL, false},
    {"noprocessesfound", PLIM_CONTEXT_ALONE, NULL, false},
    {"norunningprocess", PLIM_CONTEXT_ALONE, NULL, false},
    {"onlyprocess", PLIM_CONTEXT_ALONE, NULL, false},
    {"generate_text", PLIM_CONTEXT_LLM, NULL, false},
    {"zero-infinity", PLIM_CONTEXT_DEEPSPEED, NULL, false},
    {"zero-3", PLIM_CONTEXT_DEEPSPEED, NULL, false},
    {"zero-2", PLIM_CONTEXT_DEEPSPEED, NULL, false},
    {"zero_optimization", PLIM_CONTEXT_DEEPSPEED, NULL, false},
    {"testoneimage", PLIM_CONTEXT_INFERENCE, NULL, false},
    {"oneimagetotest", PLIM_CONTEXT_INFERENCE, NULL, false},
    {"testtime", PLIM_CONTEXT_INFERENCE, NULL, false},
    {"whentesting", PLIM_CONTEXT_INFERENCE, NULL, false},
    {"testinggives", PLIM_CONTEXT_INFERENCE, NULL, false},
    {"model_main_tf2", PLIM_CONTEXT_TENSORFLOW, NULL, false},
    {"object_detection", PLIM_CONTEXT_TENSORFLOW, NULL, false},
    {"per_process_gpu_memory", PLIM_CONTEXT_TENSORFLOW, NULL, false},
    {"memoryusagekeeps", PLIM_CONTEXT_GROWS, NULL, false},
    {"usagekeepsgrowing", PLIM_CONTEXT_GROWS, NULL, false},
    {"keepsgrowing", PLIM_CONTEXT_GROWS, NULL, false},
    {"memoryitneedsincreas", PLIM_CONTEXT_GROWS, NULL, false},
    {"memorygrows", PLIM_CONTEXT_GROWS, NULL, false},
    {"gpukeepsincreas", PLIM_CONTEXT_GROWS, NULL, false},
    {"memorygradually", PLIM_CONTEXT_GROWS, NULL, false},
    {"memorygoesup", PLIM_CONTEXT_GROWS, NULL, false},
    {"increaseseveryiter", PLIM_CONTEXT_GROWS, NULL, false},
    {"gpu", PLIM_CONTEXT_GPU, NULL, false},
    {"cuda", PLIM_CONTEXT_GPU, NULL, false},
    {"vram", PLIM_CONTEXT_GPU, NULL, false},
    {"nvidia", PLIM_CONTEXT_GPU, NULL, false},
    {"\xE6\x98\xBE\xE5\xAD\x98", PLIM_CONTEXT_GPU, NULL, false},
    {"rtx3", PLIM_CONTEXT_GPU, NULL, false},
    {"rtx4", PLIM_CONTEXT_GPU, NULL, false},
    {"rtx2", PLIM_CONTEXT_GPU, NULL, false},
    {"gtx1", PLIM_CONTEXT_GPU, NULL, false},
    {"a100", PLIM_CONTEXT_GPU, NULL, false},
    {"v100", PLIM_CONTEXT_GPU, NULL, false},
    {"h100", PLIM_CONTEXT_GPU, NULL, false},
    {"illegalmemoryaccess", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"device-sideassert", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"segmentationfault", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"segfault", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"nospaceleft", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"diskquota", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"modulenotfounderror", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"sizemismatch", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"shapemismatch", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"keyerror:", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"valueerror:", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"typeerror:", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"attributeerror:", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"filenotfounderror", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"indexerror:", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"watchdogcaught", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"connectionerror", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"assertionerror", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"misalignedaddress", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"invaliddeviceordinal", PLIM_CONTEXT_OTHER_ERROR, NULL, false},
    {"text-generation-webui", PLIM_CONTEXT_TEXTGEN, NULL, false},
    {"oobabooga", PLIM_CONTEXT_TEXTGEN, NULL, false},
    {"hs_err_pid", PLIM_CONTEXT_JVM, NULL, false},
    {"javaheap", PLIM_CONTEXT_JVM, NULL, false},
    {".java:", PLIM_CONTEXT_JVM, NULL, false},
    {"llama", PLIM_CONTEXT_LLM, NULL, false},
    {"vicuna", PLIM_CONTEXT_LLM, NULL, false},
    {"alpaca", PLIM_CONTEXT_LLM, read_name, true},
    {"gpt", PLIM_CONTEXT_LLM, read_name, true},
    {"bloom", PLIM_CONTEXT_LLM, read_name, true},
    {"falcon-", PLIM_CONTEXT_LLM, read_name, true},
    {"baichuan", PLIM_CONTEXT_LLM, NULL, false},
    {"internlm", PLIM_CONTEXT_LLM, NULL, false},
    {"deepseek", PLIM_CONTEXT_LLM, NULL, false},
    {"gemma", PLIM_CONTEXT_LLM, NULL, false},
    {"mixtral", PLIM_CONTEXT_LLM, NULL, false},
    {"causal_lm", PLIM_CONTEXT_LLM, NULL, false},
    {"stablevideo", PLIM_CONTEXT_DIFFUSION, NULL, false},
    {"hunyuan", PLIM_CONTEXT_DIFFUSION, NULL, false},
    {"wan2", PLIM_CONTEXT_DIFFUSION, read_name, true},
    {"flux", PLIM_CONTEXT_DIFFUSION, read_name, true},
    {"imgsz", PLIM_CONTEXT_DETECTION, NULL, false},
    {"--img", PLIM_CONTEXT_DETECTION, read_name, true},
    {"incompatiblewithgradientcheckpoint", PLIM_CONTEXT_CHECKPOINTING, NULL, false},
    {"use_checkpoint=true", PLIM_CONTEXT_CHECKPOINTING, NULL, false},
    {"q4_k", PLIM_CONTEXT_QUANTIZED, NULL, false},
    {"q4_0", PLIM_CONTEXT_QUANTIZED, NULL, false},
    {"nf4", PLIM_CONTEXT_QUANTIZED, NULL, false},
    {"inaforloop", PLIM_CONTEXT_LOOP, NULL, false},
    {"inaloop", PLIM_CONTEXT_LOOP, NULL, false},
    {"severalmodels", PLIM_CONTEXT_LOOP, NULL, false},
    {"multiplemodels", PLIM_CONTEXT_LOOP, NULL, false},
    {"gridsearch", PLIM_CONTEXT_LOOP, NULL, false},
    {"crossvalidation", PLIM_CONTEXT_LOOP, NULL, false},
    {"cross-validation", PLIM_CONTEXT_LOOP, NULL, false},
    {"k-fold", PLIM_CONTEXT_LOOP, NULL, false},
    {"hyperparametersearch", PLIM_CONTEXT_LOOP, NULL, false},
    {"cuda_visible_devices=", PLIM_CONTEXT_VISIBLE, NULL, false},
    {"cuda_visible_devices\"]=", PLIM_CONTEXT_VISIBLE, NULL, false},
    {"cuda_visible_devices']=", PLIM_CONTEXT_VISIBLE, NULL, false},
    {"max-model-len", PLIM_CONTEXT_SHORT_CONTEXT, NULL, false},
    {"max_model_len", PLIM_CONTEXT_SHORT_CONTEXT, NULL, false},
    {"dtype=float--", PLIM_CONTEXT_FLOAT32, NULL, false},
    {"--dtypefloat--", PLIM_CONTEXT_FLOAT32, NULL, false},
    {"dtype=float32", PLIM_CONTEXT_FLOAT32, NULL, false},
    {"--dtypefloat32", PLIM_CONTEXT_FLOAT32, NULL, false},
    {"dtype=torch.float32", PLIM_CONTEXT_FLOAT32, NULL, false},
    {"[core.py:", PLIM_CONTEXT_VLLM, NULL, false},
    {"core_client.py:", PLIM_CONTEXT_VLLM, NULL, false},
    {"enginecore", PLIM_CONTEXT_VLLM, NULL, false},
    {"gpu_model_runner", PLIM_CONTEXT_VLLM, NULL, false},
    {"llm_engine.py", PLIM_CONTEXT_VLLM, NULL, false},
    {"--no-half", PLIM_CONTEXT_NO_HALF, NULL, false},
    {"precisionfull", PLIM_CONTEXT_NO_HALF, NULL, false},
    {"--opt-split-attention", PLIM_CONTEXT_WEBUI, NULL, false},
    {"--opt-sdp", PLIM_CONTEXT_WEBUI, NULL, false},
    {"commandline_args", PLIM_CONTEXT_WEBUI, NULL, false},
    {"automatic1111", PLIM_CONTEXT_WEBUI, NULL, false},
    {"a1111", PLIM_CONTEXT_WEBUI, NULL, false},
    {"fooocus", PLIM_CONTEXT_WEBUI, NULL, false},
    {"generatingimage", PLIM_CONTEXT_DIFFUSION, NULL, false},
    {"generateimage", PLIM_CONTEXT_DIFFUSION, NULL, false},
    {"generateanimage", PLIM_CONTEXT_DIFFUSION, NULL, false},
    {"imagegeneration", PLIM_CONTEXT_DIFFUSION, NULL, false},
    {"generateavideo", PLIM_CONTEXT_DIFFUSION, NULL, false},
    {"generatevideo", PLIM_CONTEXT_DIFFUSION, NULL, false},
    {"atoms", PLIM_CONTEXT_SIMULATION, read_name, true},
    {"lammps", PLIM_CONTEXT_SIMULATION, NULL, false},
    {"gromacs", PLIM_CONTEXT_SIMULATION, NULL, false},
    {"openmm", PLIM_CONTEXT_SIMULATION, NULL, false},
    {"simulation", PLIM_CONTEXT_SIMULATION, NULL, false},
    {"gridsize", PLIM_CONTEXT_SIMULATION, NULL, false},
    {"kokkos", PLIM_CONTEXT_SIMULATION, NULL, false},
    {"startofvalidation", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"startvalidation", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"duringthevalidation", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"duringtheevaluation", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"inthevalidation", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"invalidation", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"validationphase", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"validationstage", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"validationloop", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"whenvalidating", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"whilevalidating", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"beforevalidation", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"aftervalidation", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"speech", PLIM_CONTEXT_SEQUENCES, read_name, true},
    {"audio", PLIM_CONTEXT_SEQUENCES, read_name, true},
    {"checkpointshards", PLIM_CONTEXT_PRETRAINED, NULL, false},
    {"it/s", PLIM_CONTEXT_PYTHON, NULL, false},
    {"s/it", PLIM_CONTEXT_PYTHON, NULL, false},
    {"image", PLIM_CONTEXT_IMAGES, read_name, true},
    {"pixel", PLIM_CONTEXT_IMAGES, NULL, false},
    {"segmentation", PLIM_CONTEXT_IMAGES, NULL, false},
    {"resnet", PLIM_CONTEXT_IMAGES, NULL, false},
    {"sentence", PLIM_CONTEXT_SEQUENCES, NULL, false},
    {"bert", PLIM_CONTEXT_SEQUENCES, read_name, true},
    {"seq2seq", PLIM_CONTEXT_SEQUENCES, NULL, false},
    {"c:\\", PLIM_CONTEXT_WINDOWS, NULL, false},
    {"d:\\", PLIM_CONTEXT_WINDOWS, NULL, false},
    {"e:\\", PLIM_CONTEXT_WINDOWS, NULL, false},
    {"f:\\", PLIM_CONTEXT_WINDOWS, NULL, false},
    {"windows10", PLIM_CONTEXT_WINDOWS, NULL, false},
    {"windows11", PLIM_CONTEXT_WINDOWS, NULL, false},
    {"win32", PLIM_CONTEXT_WINDOWS, NULL, false},
    {"site-packages\\", PLIM_CONTEXT_WINDOWS, NULL, false},
    {"wsl2", PLIM_CONTEXT_WSL, NULL, false},
    {"/home/", PLIM_CONTEXT_LINUX, NULL, false},
    {"/usr/l", PLIM_CONTEXT_LINUX, NULL, false},
    {"/opt/", PLIM_CONTEXT_LINUX, NULL, false},
    {"ubuntu", PLIM_CONTEXT_LINUX, NULL, false},
    {".jl:", PLIM_CONTEXT_JULIA, NULL, false},
    {"lightgbm", PLIM_CONTEXT_LIGHTGBM, NULL, false},
    {"lgb.", PLIM_CONTEXT_LIGHTGBM, NULL, false},
    {"alloc_tensor_range:", PLIM_CONTEXT_WEIGHTS, NULL, false},
    {"darknet", PLIM_CONTEXT_DARKNET, NULL, false},
    {"loadingthemodel", PLIM_CONTEXT_LOADS, NULL, false},
    {"loadthemodel", PLIM_CONTEXT_LOADS, NULL, false},
    {"failedtoload", PLIM_CONTEXT_LOADING, NULL, false},
    {"failstoload", PLIM_CONTEXT_LOADING, NULL, false},
    {"whenloading", PLIM_CONTEXT_LOADING, NULL, false},
    {"whileloading", PLIM_CONTEXT_LOADING, NULL, false},
    {"\xE5\x8A\xA0\xE8\xBD\xBD\xE6\xA8\xA1\xE5\x9E\x8B", PLIM_CONTEXT_LOADING, NULL, false},
    {"cutoff_len", PLIM_CONTEXT_SEQUENCES, NULL, false},
    {"qwen", PLIM_CONTEXT_LLM, NULL, false},
    {"llama-", PLIM_CONTEXT_LLM, NULL, false},
    {"llama2", PLIM_CONTEXT_LLM, NULL, false},
    {"chatglm", PLIM_CONTEXT_LLM, NULL, false},
    {"llava", PLIM_CONTEXT_LLM, NULL, false},
    {"mistral", PLIM_CONTEXT_LLM, NULL, false},
    {"do_eval", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"evaluating", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"memoryincreas", PLIM_CONTEXT_GROWS, NULL, false},
    {"memoryusageincreas", PLIM_CONTEXT_GROWS, NULL, false},
    {"memorykeeps", PLIM_CONTEXT_GROWS, NULL, false},
    {"keepsincreasing", PLIM_CONTEXT_GROWS, NULL, false},
    {"memoryleak", PLIM_CONTEXT_GROWS, NULL, false},
    {"alphafold", PLIM_CONTEXT_JAX, read_protein, false},
    {"colabfold", PLIM_CONTEXT_JAX, read_protein, false},
    {"openfold", PLIM_CONTEXT_PROTEIN, NULL, false},
    {"esmfold", PLIM_CONTEXT_PROTEIN, NULL, false},
    {"residues", PLIM_CONTEXT_PROTEIN, NULL, false},
    {"getkilled", PLIM_CONTEXT_WAS_KILLED, NULL, false},
    {"getskilled", PLIM_CONTEXT_WAS_KILLED, NULL, false},
    {"gotkilled", PLIM_CONTEXT_WAS_KILLED, NULL, false},
    {"waskilled", PLIM_CONTEXT_WAS_KILLED, NULL, false},
    {"bekilled", PLIM_CONTEXT_WAS_KILLED, NULL, false},
    {"arekilled", PLIM_CONTEXT_WAS_KILLED, NULL, false},
    {"werekilled", PLIM_CONTEXT_WAS_KILLED, NULL, false},
    {"iskilled", PLIM_CONTEXT_WAS_KILLED, NULL, false},
    {"infer.py", PLIM_CONTEXT_INFERENCE, NULL, false},
    {"\xE6\x8E\xA8\xE7\x90\x86", PLIM_CONTEXT_INFERENCE, NULL, false},
    {"\xE8\xAE\xAD\xE7\xBB\x83", PLIM_CONTEXT_TRAINING, NULL, false},
    {"\xE5\xBE\xAE\xE8\xB0\x83", PLIM_CONTEXT_TRAINING, NULL, false},
    {"subdivision", PLIM_CONTEXT_DARKNET, NULL, false},
    {"subdivisions", PLIM_CONTEXT_DARKNET, read_subdivisions, false},
    {"macos", PLIM_CONTEXT_MAC, NULL, false},
    {"/users/", PLIM_CONTEXT_MAC, NULL, false},
    {"applem1", PLIM_CONTEXT_MAC, NULL, false},
    {"applem2", PLIM_CONTEXT_MAC, NULL, false},
    {"applem3", PLIM_CONTEXT_MAC, NULL, false},
    {"rocm", PLIM_CONTEXT_AMD, NULL, false},
    {"hipoutof", PLIM_CONTEXT_AMD, NULL, false},
    {"hiperror", PLIM_CONTEXT_AMD, NULL, false},
    {"amdradeon", PLIM_CONTEXT_AMD, NULL, false},
    {"gfx90", PLIM_CONTEXT_AMD, NULL, false},
    {"gfx10", PLIM_CONTEXT_AMD, NULL, false},
    {"gfx11", PLIM_CONTEXT_AMD, NULL, false},
    {"jetson", PLIM_CONTEXT_JETSON, NULL, false},
    {"colab", PLIM_CONTEXT_COLAB, NULL, false},
    {"/content/", PLIM_CONTEXT_COLAB, NULL, false},
    {"kaggle", PLIM_CONTEXT_KAGGLE, NULL, false},
    {"<ipython-input", PLIM_CONTEXT_NOTEBOOK, NULL, false},
    {"ipykernel", PLIM_CONTEXT_NOTEBOOK, NULL, false},
    {"cellin[", PLIM_CONTEXT_NOTEBOOK, NULL, false},
    {".backward(", PLIM_CONTEXT_TRAINING, NULL, false},
    {"trainer.train", PLIM_CONTEXT_TRAINING, NULL, false},
    {"train.py", PLIM_CONTEXT_TRAINING, NULL, false},
    {"training", PLIM_CONTEXT_TRAINING, NULL, false},
    {"train", PLIM_CONTEXT_TRAINING, read_train, true},
    {".fit(", PLIM_CONTEXT_TRAINING, NULL, false},
    {"finetune", PLIM_CONTEXT_TRAINING, NULL, false},
    {"fine-tun", PLIM_CONTEXT_TRAINING, NULL, false},
    {"optimizer", PLIM_CONTEXT_TRAINING, NULL, false},
    {"train_step", PLIM_CONTEXT_TRAINING, NULL, false},
    {"inference", PLIM_CONTEXT_INFERENCE, NULL, false},
    {"generat", PLIM_CONTEXT_INFERENCE, NULL, false},
    {"test.py", PLIM_CONTEXT_INFERENCE, NULL, false},
    {"demo.py", PLIM_CONTEXT_INFERENCE, NULL, false},
    {"predict", PLIM_CONTEXT_INFERENCE, NULL, false},
    {"transcri", PLIM_CONTEXT_INFERENCE, NULL, false},
    {"transformers/trainer.py", PLIM_CONTEXT_TRAINER, NULL, false},
    {"transformers\\trainer.py", PLIM_CONTEXT_TRAINER, NULL, false},
    {"pytorch_lightning", PLIM_CONTEXT_LIGHTNING, NULL, false},
    {"lightning/pytorch", PLIM_CONTEXT_LIGHTNING, NULL, false},
    {"deepspeed", PLIM_CONTEXT_DEEPSPEED, NULL, false},
    {"qlora", PLIM_CONTEXT_QUANTIZED, read_qlora, false},
    {"lora", PLIM_CONTEXT_LORA, read_name, true},
    {"keras", PLIM_CONTEXT_KERAS, NULL, false},
    {"detectron", PLIM_CONTEXT_DETECTION, NULL, false},
    {"mmdet", PLIM_CONTEXT_DETECTION, NULL, false},
    {"yolo", PLIM_CONTEXT_DETECTION, NULL, false},
    {"ultralytics", PLIM_CONTEXT_DETECTION, NULL, false},
    {"tokeniz", PLIM_CONTEXT_SEQUENCES, NULL, false},
    {"max_seq_len", PLIM_CONTEXT_SEQUENCES, NULL, false},
    {"max_length", PLIM_CONTEXT_SEQUENCES, NULL, false},
    {"attention", PLIM_CONTEXT_SEQUENCES, NULL, false},
    {"conv2d", PLIM_CONTEXT_IMAGES, NULL, false},
    {"torchvision", PLIM_CONTEXT_IMAGES, NULL, false},
    {"img_size", PLIM_CONTEXT_IMAGES, NULL, false},
    {"resolution", PLIM_CONTEXT_IMAGES, NULL, false},
    {"interpolate", PLIM_CONTEXT_IMAGES, NULL, false},
    {"stablediffusion", PLIM_CONTEXT_DIFFUSION, NULL, false},
    {"stable-diffusion", PLIM_CONTEXT_DIFFUSION, NULL, false},
    {"sdxl", PLIM_CONTEXT_DIFFUSION, read_name, true},
    {"unet", PLIM_CONTEXT_DIFFUSION, read_name, true},
    {"ldm/", PLIM_CONTEXT_DIFFUSION, read_name, true},
    {"diffusers", PLIM_CONTEXT_DIFFUSERS, NULL, false},
    {"comfyui", PLIM_CONTEXT_COMFY, NULL, false},
    {"comfy/", PLIM_CONTEXT_COMFY, NULL, false},
    {"comfy\\", PLIM_CONTEXT_COMFY, NULL, false},
    {"ksampler", PLIM_CONTEXT_COMFY, NULL, false},
    {"unloadingallloadedmodels", PLIM_CONTEXT_COMFY, NULL, false},
    {"webui", PLIM_CONTEXT_WEBUI, NULL, false},
    {"hires", PLIM_CONTEXT_WEBUI, NULL, false},
    {"highres", PLIM_CONTEXT_WEBUI, NULL, false},
    {"txt2img", PLIM_CONTEXT_WEBUI, NULL, false},
    {"img2img", PLIM_CONTEXT_WEBUI, NULL, false},
    {"upscal", PLIM_CONTEXT_DIFFUSION, NULL, false},
    {"torchactive/reserved", PLIM_CONTEXT_WEBUI, NULL, false},
    {"kohya", PLIM_CONTEXT_KOHYA, NULL, false},
    {"sd-scripts", PLIM_CONTEXT_KOHYA, NULL, false},
    {"max_new_tokens", PLIM_CONTEXT_LLM, NULL, false},
    {"causallm", PLIM_CONTEXT_LLM, NULL, false},
    {"kvcache", PLIM_CONTEXT_LLM, NULL, false},
    {"past_key_value", PLIM_CONTEXT_LLM, NULL, false},
    {"modeling_llama", PLIM_CONTEXT_LLM, NULL, false},
    {"modeling_qwen", PLIM_CONTEXT_LLM, NULL, false},
    {"vllm", PLIM_CONTEXT_VLLM, NULL, false},
    {"sglang", PLIM_CONTEXT_SGLANG, NULL, false},
    {"ollama", PLIM_CONTEXT_OLLAMA, NULL, false},
    {"llama.cpp", PLIM_CONTEXT_LLAMA, NULL, false},
    {"ggml", PLIM_CONTEXT_LLAMA, NULL, false},
    {"whisper", PLIM_CONTEXT_WHISPER, NULL, false},
    {"transformers", PLIM_CONTEXT_TRANSFORMERS, NULL, false},
    {"from_pretrained", PLIM_CONTEXT_PRETRAINED, NULL, false},
    {"torch.load(", PLIM_CONTEXT_TORCH_LOAD, NULL, false},
    {"torch_geometric", PLIM_CONTEXT_GRAPHS, NULL, false},
    {"dgl", PLIM_CONTEXT_GRAPHS, read_name, true},
    {"nproc_per_node", PLIM_CONTEXT_MULTIGPU, NULL, false},
    {"dataparallel", PLIM_CONTEXT_MULTIGPU, NULL, false},
    {"expandable_segments:true\"", PLIM_CONTEXT_EXPANDABLE, NULL, false},
    {"conf=expandable_segments:true", PLIM_CONTEXT_EXPANDABLE, NULL, false},
    {"expandable_segments:true", PLIM_CONTEXT_EXPANDABLE, NULL, false},
    {"max_split_size_mb:", PLIM_CONTEXT_SPLIT_SIZE, NULL, false},
    {"gradient_checkpointing=true", PLIM_CONTEXT_CHECKPOINTING, NULL, false},
    {"gradient_checkpointingtrue", PLIM_CONTEXT_CHECKPOINTING, NULL, false},
    {"gradient_checkpointing:true", PLIM_CONTEXT_CHECKPOINTING, NULL, false},
    {"utils/checkpoint.py", PLIM_CONTEXT_CHECKPOINTING, NULL, false},
    {"utils\\checkpoint.py", PLIM_CONTEXT_CHECKPOINTING, NULL, false},
    {"checkpointfunction", PLIM_CONTEXT_CHECKPOINTING, NULL, false},
    {"autocast", PLIM_CONTEXT_HALF, NULL, false},
    {"amp/", PLIM_CONTEXT_HALF, NULL, false},
    {"fp16=true", PLIM_CONTEXT_HALF, NULL, false},
    {"bf16=true", PLIM_CONTEXT_HALF, NULL, false},
    {"float16", PLIM_CONTEXT_HALF, NULL, false},
    {"bfloat16", PLIM_CONTEXT_HALF, NULL, false},
    {"mixed_precision=\"fp16\"", PLIM_CONTEXT_HALF, NULL, false},
    {"mixed_precisionfp16", PLIM_CONTEXT_HALF, NULL, false},
    {"mixed_precisionbf16", PLIM_CONTEXT_HALF, NULL, false},
    {"bnb4bit", PLIM_CONTEXT_QUANTIZED, NULL, false},
    {"bitsandbytes/nn", PLIM_CONTEXT_QUANTIZED, NULL, false},
    {"gptq", PLIM_CONTEXT_QUANTIZED, read_name, true},
    {"awq", PLIM_CONTEXT_QUANTIZED, read_name, true},
    {"gguf", PLIM_CONTEXT_QUANTIZED, NULL, false},
    {"no_grad()", PLIM_CONTEXT_NO_GRAD, NULL, false},
    {"inference_mode", PLIM_CONTEXT_NO_GRAD, NULL, false},
    {"grad_mode.py", PLIM_CONTEXT_NO_GRAD, NULL, false},
    {"_contextlib.py", PLIM_CONTEXT_NO_GRAD, NULL, false},
    {"allow_growth", PLIM_CONTEXT_GROWTH, NULL, false},
    {"set_memory_growth", PLIM_CONTEXT_GROWTH, NULL, false},
    {"watermark_ratio=0", PLIM_CONTEXT_COUNT, read_watermark, false},
    {"dataloader", PLIM_CONTEXT_DATALOADER, NULL, false},
    {"num_worker", PLIM_CONTEXT_DATALOADER, read_workers, false},
    {"num_workers", PLIM_CONTEXT_DATALOADER, read_workers, false},
    {"num-workers", PLIM_CONTEXT_DATALOADER, read_workers, false},
    {"savingcheckpoint", PLIM_CONTEXT_SAVING, NULL, false},
    {"saveacheckpoint", PLIM_CONTEXT_SAVING, NULL, false},
    {"savethecheckpoint", PLIM_CONTEXT_SAVING, NULL, false},
    {"save_checkpoint(", PLIM_CONTEXT_SAVING, NULL, false},
    {"torch.save(", PLIM_CONTEXT_SAVING, NULL, false},
    {"save_pretrained(", PLIM_CONTEXT_SAVING, NULL, false},
    {"memory_fraction", PLIM_CONTEXT_COUNT, read_share, false},
    {"mem_fraction=", PLIM_CONTEXT_COUNT, read_share, false},
    {"memoryfraction", PLIM_CONTEXT_COUNT, read_share, false},
    {"cntk", PLIM_CONTEXT_CNTK, NULL, false},
    {".lua:", PLIM_CONTEXT_LUA, NULL, false},
    {"luajit", PLIM_CONTEXT_LUA, NULL, false},
    {"torch/install/", PLIM_CONTEXT_LUA, NULL, false},
    {"torch_xla", PLIM_CONTEXT_XLA_TORCH, NULL, false},
    {"torch-xla", PLIM_CONTEXT_XLA_TORCH, NULL, false},
    {"pytorch/xla", PLIM_CONTEXT_XLA_TORCH, NULL, false},
    {"tensorrt", PLIM_CONTEXT_TENSORRT, NULL, false},
    {"tensorrt-llm", PLIM_CONTEXT_TRTLLM, NULL, false},
    {"tensorrt_llm", PLIM_CONTEXT_TRTLLM, NULL, false},
    {"torch/", PLIM_CONTEXT_PYTORCH, NULL, false},
    {"torch.", PLIM_CONTEXT_PYTORCH, NULL, false},
    {"torch\\", PLIM_CONTEXT_PYTORCH, NULL, false},
    {"importtorch", PLIM_CONTEXT_PYTORCH, NULL, false},
    {"pytorch", PLIM_CONTEXT_PYTORCH, read_torch, false},
    {"pytorchversion", PLIM_CONTEXT_PYTORCH, read_torch, false},
    {"torch==", PLIM_CONTEXT_PYTORCH, read_torch, false},
    {"torch", PLIM_CONTEXT_COUNT, read_torch, false},
    {"torchversion", PLIM_CONTEXT_PYTORCH, read_torch, false},
    {"torch.__version__", PLIM_CONTEXT_PYTORCH, read_torch, false},
    {"tensorflow", PLIM_CONTEXT_TENSORFLOW, read_tensorflow, false},
    {"tensorflowversion", PLIM_CONTEXT_TENSORFLOW, read_tensorflow, false},
    {"tensorflow-gpu", PLIM_CONTEXT_TENSORFLOW, read_tensorflow, false},
    {"tensorflow==", PLIM_CONTEXT_TENSORFLOW, read_tensorflow, false},
    {"tensorflow_gpu", PLIM_CONTEXT_TENSORFLOW, read_tensorflow, false},
    {"tensorflow(withgpusupport)", PLIM_CONTEXT_TENSORFLOW, read_tensorflow, false},
    {"jax.", PLIM_CONTEXT_JAX, NULL, false},
    {"jax/", PLIM_CONTEXT_JAX, NULL, false},
    {"jaxlib", PLIM_CONTEXT_JAX, NULL, false},
    {"flax", PLIM_CONTEXT_JAX, NULL, false},
    {"xlaruntimeerror", PLIM_CONTEXT_JAX, NULL, false},
    {"onnxruntime", PLIM_CONTEXT_ONNXRUNTIME, NULL, false},
    {"mxnet", PLIM_CONTEXT_MXNET, NULL, false},
    {"paddle", PLIM_CONTEXT_PADDLE, NULL, false},
    {"cupy", PLIM_CONTEXT_CUPY, NULL, false},
    {"client/session.py", PLIM_CONTEXT_TENSORFLOW, read_sessions, false},
    {"client\\session.py", PLIM_CONTEXT_TENSORFLOW, read_sessions, false},
    {"seeabovefortraceback", PLIM_CONTEXT_TENSORFLOW, read_sessions, false},
    {"spark", PLIM_CONTEXT_SPARK, NULL, false},
    {"nextflow", PLIM_CONTEXT_NEXTFLOW, NULL, false},
    {"python", PLIM_CONTEXT_PYTHON, NULL, false},
    {".py", PLIM_CONTEXT_PYTHON, NULL, false},
    {"importmlx", PLIM_CONTEXT_MLX, NULL, false},
    {"mlx_lm", PLIM_CONTEXT_MLX, NULL, false},
    {"adamw8bit", PLIM_CONTEXT_OPTIMIZER8, NULL, false},
    {"adamw_8bit", PLIM_CONTEXT_OPTIMIZER8, NULL, false},
    {"paged_adamw", PLIM_CONTEXT_OPTIMIZER8, NULL, false},
    {"--mem", PLIM_CONTEXT_COUNT, read_memory, false},
    {"--memory", PLIM_CONTEXT_COUNT, read_memory, false},
    {"--shm-size", PLIM_CONTEXT_COUNT, read_memory, false},
    {"shm_size", PLIM_CONTEXT_COUNT, read_memory, false},
    {"-xmx", PLIM_CONTEXT_COUNT, read_memory, false},
    {"max-old-space-size", PLIM_CONTEXT_COUNT, read_heap, false},
    {"max_old_space_size", PLIM_CONTEXT_COUNT, read_heap, false},
    {"gpu_memory_utilization", PLIM_CONTEXT_VLLM, read_fraction, false},
    {"gpu-memory-utilization", PLIM_CONTEXT_VLLM, read_fraction, false},
    {"mem-fraction-static", PLIM_CONTEXT_SGLANG, read_fraction, false},
    {"mem_fraction_static", PLIM_CONTEXT_SGLANG, read_fraction, false},
    {"eval.py", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"evaluate.py", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"evaluation.py", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"evaluator.py", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"evalcode", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"evalmode", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"evaluationstep", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"inevaluation", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"duringevaluation", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"ievaluate", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"toevaluate", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"duringvalidation", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"validationstep", PLIM_CONTEXT_EVALUATION, NULL, false},
    {"tf_jenkins", PLIM_CONTEXT_COUNT, read_sessions, false},
    {"nb_epoch", PLIM_CONTEXT_COUNT, read_sessions, false},
    {"tf.session(", PLIM_CONTEXT_COUNT, read_sessions, false},
    {"tf.configproto", PLIM_CONTEXT_COUNT, read_sessions, false},
    {"cuda9.0", PLIM_CONTEXT_COUNT, read_sessions, false},
    {"cuda9.1", PLIM_CONTEXT_COUNT, read_sessions, false},
    {"cuda8.0", PLIM_CONTEXT_COUNT, read_sessions, false},
    {"mem_mb", PLIM_CONTEXT_COUNT, read_heap, false},
};

const size_t plim__word_count = sizeof plim__words / sizeof *plim__words;

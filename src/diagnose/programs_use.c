/* Programs that use a model or serve it, and libraries that many programs stand on. */
#include "diagnose/programs.h"

#define PROGRAM(program, mark_words, name_words) .name = program, .marks = mark_words, .names = name_words
#define L(lever, setting)                                                                                              \
    { PLIM_LEVER_##lever, setting }
#define INFER .usual = PLIM_ACTIVITY_INFER
#define SERVE .usual = PLIM_ACTIVITY_SERVE
#define TRAIN .usual = PLIM_ACTIVITY_TRAIN

const plim__program plim__programs_use[] = {
    /* --- images and video --------------------------------------------------------------------------------------- */
    {PROGRAM("ComfyUI",
             "comfyui/ comfy/ comfyui_ comfy_extras/ custom_nodes/ ksampler comfyui-manager prompt_worker "
             "model_management.py unloadingallloadedmodels exceptionduringprocessing",
             "comfyui comfy"),
     INFER, .order = "tiles offload more input own quantize",
     .levers = {L(OWN, "python main.py --reserve-vram 2.0: room for what is computed beside the model"),
                L(OFFLOAD, "python main.py --lowvram (--reserve-vram 1.0 where the desktop shares the card)"),
                L(OFFLOAD_MORE, "python main.py --novram --cpu-vae; --disable-smart-memory"),
                L(TILES, "the node VAE Decode (Tiled) or VAE Encode (Tiled) in place of the plain one, tile_size 256 "
                         "if that is not enough"),
                L(INPUT, "a smaller latent or fewer frames, batch_size 1; the node VAE Decode (Tiled)"),
                L(QUANTIZE, "an fp8 or GGUF file of the model, and of the text encoder"),
                L(KERNELS, "python main.py --use-pytorch-cross-attention (or --use-flash-attention, "
                           "--use-sage-attention where they are installed)"),
                L(MODEL, "a smaller or distilled model"),
                L(HOST, "python main.py --cache-none (or --cache-lru 1), without --highvram; fp8 or GGUF files; a "
                        "larger page file or swap")}},
    {PROGRAM("InvokeAI", "invokeai/ invokeai.yaml invoke_ai invokeai_", "invokeai"), INFER, .order = "own input tiles",
     .levers = {L(OWN,
                  "enable_partial_loading: true and device_working_mem_gb: 4 in invokeai.yaml (before 5.6: vram: 0)"),
                L(INPUT, "a smaller image, one at a time"), L(TILES, "force_tiled_decode: true"),
                L(QUANTIZE, "a quantized or fp16 model"), L(HOST, "max_cache_ram_gb lower in invokeai.yaml; swap")}},
    {PROGRAM(
         "Stable Diffusion web UI Forge",
         "webui-forge webui_forge modules_forge/ setvramstateto extensions-builtin/forge_ backend/memory_management "
         "backend/sampling neveroom [memorymanagement] reforge",
         "forge reforge"),
     INFER, .order = "offload input quantize tiles",
     .levers = {L(OFFLOAD, "a lower 'GPU Weights (MB)' at the top of the page, Swap Location CPU and Swap Method Queue "
                           "(before August 2024: --always-low-vram); without --cuda-malloc and --pin-shared-memory"),
                L(INPUT, "lower width and height, batch size 1, a smaller upscale factor or no hires. fix"),
                L(QUANTIZE, "a GGUF (Q4_K_S), nf4 or fp8 file of the model, and the text encoder in fp8"),
                L(TILES, "Never OOM Integrated: Enabled for VAE (always tiled)"),
                L(MODEL, "an SDXL or SD 1.5 model instead of FLUX; a pruned fp16 .safetensors"),
                L(KERNELS, "--xformers (or --attention-pytorch)"),
                L(HOST, "a larger page file or swap (40 GB for FLUX); fp8 or GGUF files; one checkpoint in memory")}},
    {PROGRAM("Fooocus", "fooocus/ fooocus_ fooocusv2 entry_with_update launch.py--preset", "fooocus"), INFER,
     .order = "offload input model",
     .levers = {L(OFFLOAD, "python entry_with_update.py --always-low-vram (--always-no-vram if that is not enough)"),
                L(INPUT, "an aspect ratio of fewer pixels; Performance: Speed; no Upscale (2x)"),
                L(MODEL, "fewer LoRAs and no refiner"), L(HOST, "a page file or swap of 40 GB; close other programs")}},
    {PROGRAM("Stable Diffusion web UI (A1111, SD.Next)",
             "stable-diffusion-webui sd.webui webui-user webui.bat commandline_args --medvram --lowvram "
             "modules/processing.py modules/sd_ modules/txt2img modules/img2img modules/call_queue "
             "torchactive/reserved sysvram: "
             "extensions/sd- highresfix hiresfix --opt-split-attention --opt-sub-quad --opt-sdp",
             "automatic1111 a1111 webui sd.next sdnext sd-webui txt2img img2img hires"),
     INFER, .order = "offload more input tiles model",
     .levers = {L(OFFLOAD,
                  "--medvram --xformers (or --opt-sdp-attention) in COMMANDLINE_ARGS; --lowvram if that is not "
                  "enough"),
                L(OFFLOAD_MORE, "--lowvram --opt-sub-quad-attention; without --no-half and --precision full"),
                L(INPUT, "lower width and height, batch size 1, a smaller upscale factor or no hires. fix"),
                L(TILES, "upscale and decode in tiles (Ultimate SD upscale, tiled VAE of multidiffusion-upscaler)"),
                L(KERNELS, "--xformers (or --opt-sdp-attention) in COMMANDLINE_ARGS; --opt-sub-quad-attention holds "
                           "least"),
                L(MODEL, "a pruned fp16 .safetensors; one checkpoint in memory"),
                L(BATCH, "batch size 1, 512 x 512, cross-attention optimizations on; move VAE and CLIP to RAM when "
                         "training"),
                L(HOST, "one checkpoint cached (Settings > Checkpoints in memory: 1); fp16 .safetensors; a larger page "
                        "file or swap")}},
    {PROGRAM("Easy Diffusion", "stable-diffusion-ui easydiffusion easy-diffusion sd_internal", "easydiffusion"), INFER,
     .order = "own precision input",
     .levers = {L(OWN, "Settings > GPU Memory Usage: Low (in old versions: Turbo mode off)"),
                L(PRECISION, "Use Full Precision off (cards of the GTX 16 series need it)"),
                L(INPUT, "512 x 512 or less, one image at a time, without face correction and upscaling"),
                L(MODEL, "a pruned fp16 model")}},
    {PROGRAM("Stable Diffusion's own scripts",
             "scripts/txt2img.py scripts/img2img.py optimizedsd/ ldm/models/ ldm/modules/ stablediffusion/ sd-v1-4",
             "stable-diffusion stablediffusion"),
     INFER, .order = "input precision own",
     .levers = {L(INPUT, "--H 384 --W 384 --n_samples 1"),
                L(PRECISION, "model.half() behind load_model_from_config, --precision autocast"),
                L(OWN, "a fork for small cards (optimizedSD), or diffusers with enable_model_cpu_offload()"),
                L(BATCH, "batch_size: 1 in the config with accumulate_grad_batches"),
                L(CHECKPOINT, "use_checkpoint: True")}},
    {PROGRAM("FramePack", "framepack dynamicswap_ transformer3dmodelpacked withpreservedmemory",
             "framepack framepack-studio"),
     INFER, .order = "own input quantize",
     .levers = {L(OWN, "a larger 'GPU Inference Preserved Memory (GB)' on the page: that much is kept free for what is "
                       "computed"),
                L(INPUT, "a smaller picture to begin with and a shorter video; TeaCache on"),
                L(QUANTIZE, "a fork with fp8 weights"),
                L(KERNELS, "xformers, flash-attn or sage-attn installed (it prints at its start which it has)"),
                L(HOST, "a larger page file or swap (64 GB with the memory together); other programs closed")}},
    {PROGRAM("Wan, HunyuanVideo, CogVideoX and other video models",
             "wan/ --offload_model --t5_cpu hyvideo/ opensora/ open-sora wan2gp latte/ animatediff/ ltx_video "
             "pyramid_dit pyramid-flow text-to-videogeneration stepvideo run_hyvideo sample_video.py "
             "--flow-reverse --embedded-cfg-scale hymm_sp/",
             "wan2 wan2.1 wan2.2 ltx-video hunyuanvideo cogvideox cogvideo opensora mochi ltxv ltx-2 "
             "animatediff pyramid-flow text-to-video"),
     INFER, .order = "offload input quantize tiles shard",
     .levers = {L(KERNELS, "xformers, flash-attn or SageAttention, installed for this PyTorch (--attention_mode, "
                           "--use_sage where it has them)"),
                L(OFFLOAD, "--offload_model True --t5_cpu (Wan), --use-cpu-offload (Hunyuan), "
                           "pipe.enable_sequential_cpu_offload() (diffusers)"),
                L(INPUT, "480p instead of 720p, fewer frames"),
                L(TILES, "pipe.vae.enable_tiling(), pipe.vae.enable_slicing() (--vae-tiling)"),
                L(QUANTIZE, "fp8 weights (--use-fp8), GGUF or int8 (torchao) weights"),
                L(SHARD, "several cards: --dit_fsdp --t5_fsdp --ulysses_size 2"),
                L(MODEL, "the small model (1.3B, 2B, 5B)"),
                L(BATCH, "--train_batch_size 1, gradient checkpointing, fewer frames; the LoRA script")}},
    {PROGRAM(
         "Real-ESRGAN and other upscalers",
         "realesrgan real-esrgan esrgan/ basicsr/ swinir gfpgan/ codeformer/ upscayl --tile tile_process --outscale "
         "video-enhancer upscaletorch rve-backend",
         "esrgan real-esrgan swinir gfpgan codeformer upscayl"),
     INFER, .order = "tiles input precision",
     .levers = {L(TILES, "--tile 256 (128 if that is not enough); in other programs the setting of that name"),
                L(INPUT, "a smaller image or --outscale 2; one image at a time"), L(PRECISION, "without --fp32"),
                L(BATCH, "batch_size_per_gpu: {half_batch}, gt_size: 128 in the options file")}},
    {PROGRAM("Segment Anything",
             "segment_anything/ segment-anything sam2/ sam_model_registry samautomaticmaskgenerator sam_vit",
             "segment-anything sam2"),
     INFER, .order = "fewer model input offload",
     .levers = {L(FEWER, "SamAutomaticMaskGenerator(sam, points_per_batch=16, points_per_side=16)"),
                L(MODEL, "vit_b instead of vit_h (SAM 2: tiny or small)"),
                L(INPUT, "resize the longest side to 1024; crop_n_layers=0"),
                L(OFFLOAD, "SAM 2 on video: init_state(offload_video_to_cpu=True, offload_state_to_cpu=True)"),
                L(BATCH, "one image a step; freeze the image encoder and keep its embeddings")}},
    {PROGRAM("Gaussian splatting",
             "gaussian-splatting gaussian_splatting gaussian_model.py gaussian_renderer diff_gaussian_rasterization "
             "rasterize_gaussians gsplat/ splatfacto densify_and_prune simple-knn simple_knn gaussiansplat "
             "numberofpointsatinitialisation mip-splatting deformable-3d-gaussians",
             "gaussian-splatting gsplat 3dgs splatfacto splatting splat splats gaussians hypernerf"),
     TRAIN, .order = "own offload input",
     .levers = {L(OWN, "fewer Gaussians: --densify_grad_threshold 0.0004 --densify_until_iter 10000 (gsplat: "
                       "--strategy.cap-max 1000000; splatfacto: --pipeline.model.densify-grad-thresh 0.0012, and "
                       "--pipeline.model.max-gs-num with strategy mcmc)"),
                L(INPUT, "images of half the size: -r 2 (or 4); gsplat: --data_factor 4; splatfacto: "
                         "--downscale-factor 2 behind nerfstudio-data"),
                L(OFFLOAD, "images in host memory: --data_device cpu (splatfacto: "
                           "--pipeline.datamanager.cache-images cpu)"),
                L(TILES, "-r 2 (or 4); fewer Gaussians in the file"),
                L(FEWER, "-r 2 (or 4); fewer Gaussians in the file")}},
    {PROGRAM("nerfstudio", "nerfstudio/ ns-trainnerf ns-traininstant nerfacto", "nerfstudio nerfacto"), TRAIN,
     .order = "batch input own",
     .levers = {L(BATCH, "--pipeline.datamanager.train-num-rays-per-batch 1024 "
                         "--pipeline.model.eval-num-rays-per-chunk 4096"),
                L(INPUT,
                  "--downscale-factor 2 behind nerfstudio-data; fewer images (ns-process-data --num-downscales)"),
                L(OWN, "nerfacto instead of nerfacto-big or -huge"),
                L(FEWER, "--eval-num-rays-per-chunk 4096; a smaller resolution"),
                L(EVAL, "--pipeline.model.eval-num-rays-per-chunk 4096")}},
    {PROGRAM("instant-ngp", "instant-ngp cam_aabb= cam_aabb debug_guard_size tiny-cuda-nn/ gpu_memory.h",
             "instant-ngp"),
     INFER, .framework = "cuda", .order = "input own",
     .levers = {L(INPUT,
                  "fewer and smaller images: half the side holds a quarter (960 x 540), every second one; all of "
                  "them stay on the card"),
                L(OWN, "a smaller aabb_scale in transforms.json, a smaller window (--width 1280 --height 720); other "
                       "programs closed")}},
    {PROGRAM("NeRF", "run_nerf nerf/ run_nerf.py --n_rand netchunk nerf_pl ngp_pl torch-ngp/ neus/",
             "nerf nerf-pytorch neus"),
     TRAIN, .order = "batch input own",
     .levers = {L(BATCH, "{at}a smaller ray batch and chunk (--N_rand 512 --chunk 4096 --netchunk 16384)"),
                L(INPUT, "a downscale factor of 2 or 4; fewer samples a ray (--N_samples 64 --N_importance 64)"),
                L(OWN, "images in host memory (no --preload); a smaller aabb_scale or hash table"),
                L(FEWER, "--chunk 4096, --render_factor 4"), L(EVAL, "--chunk 4096, --render_factor 4")}},
    {PROGRAM("COLMAP", "colmap patch_match_stereo siftextraction", "colmap"), INFER, .framework = "cuda",
     .order = "input own",
     .levers = {L(INPUT, "--SiftExtraction.max_image_size 1600, --PatchMatchStereo.max_image_size 1600"),
                L(OWN, "--SiftMatching.max_num_matches 16384, --PatchMatchStereo.cache_size 16"),
                L(HOST, "--StereoFusion.cache_size 16 --StereoFusion.max_image_size 1600, fewer threads "
                        "(--SiftExtraction.num_threads 2)")}},
    {PROGRAM("EasyOCR and PaddleOCR", "easyocr paddleocr ppocr/ tools/infer/predict_", "easyocr paddleocr ppocr"),
     INFER, .framework = "cuda", .order = "input fewer own",
     .levers = {L(INPUT, "canvas_size=1280 (EasyOCR), det_limit_side_len=960 (PaddleOCR)"),
                L(FEWER, "batch_size=1, rec_batch_num=1; one image at a time"),
                L(OWN, "FLAGS_fraction_of_gpu_memory_to_use=0.5, gpu_mem=2000"),
                L(BATCH, "Train.loader.batch_size_per_card: {half_batch}; a smaller image_shape")}},
    {PROGRAM("dlib, face_recognition", "face_recognition/ cnn_face_detector face_locations( dlib/cuda dlib/dnn",
             "face_recognition dlib"),
     INFER, .framework = "cuda", .order = "input own fewer",
     .levers = {L(INPUT, "smaller pictures: a longest side of 800 before face_locations(), and "
                         "number_of_times_to_upsample=0"),
                L(OWN, "model='hog' (--detection-method hog), which needs no card"),
                L(FEWER, "one picture at a time; a fresh process after some hundreds")}},
    {PROGRAM("Cellpose", "cellpose/ cellpose", "cellpose"), INFER, .order = "fewer input own",
     .levers = {L(FEWER, "model.eval(x, batch_size=1) (--batch_size 1), tile=True"),
                L(INPUT, "a larger diameter or smaller images: they are resized; resample=False"),
                L(OWN, "a plane at a time: do_3D=False with stitch_threshold=0.3"),
                L(BATCH, "batch_size=1 in train_seg")}},

    /* --- proteins ----------------------------------------------------------------------------------------------- */
    {PROGRAM("AlphaFold, ColabFold",
             "alphafold/ run_alphafold colabfold alphafold_ alphafold3 notenoughgpumemory?resource_exhausted",
             "alphafold colabfold alphafold2"),
     INFER, .framework = "jax", .order = "own input fewer",
     .levers = {L(OWN, "TF_FORCE_UNIFIED_MEMORY=1 XLA_PYTHON_CLIENT_MEM_FRACTION=4.0: it spills into host memory"),
                L(INPUT, "a shorter sequence: overlapping parts, or one chain at a time"),
                L(FEWER, "fewer recycles, --max-seq 256 --max-extra-seq 512; a card with more memory")}},
    {PROGRAM("OpenFold, ESMFold and their family",
             "openfold/ esmfold esm/ esm. boltz/ chai_lab/ protenix/ rfdiffusion/ rosettafold unifold/ omegafold",
             "openfold esmfold boltz boltz-1 boltz-2 chai-1 protenix rosettafold rfdiffusion omegafold"),
     INFER, .order = "tiles input offload precision",
     .levers = {L(TILES, "work in chunks: model.set_chunk_size(64) (--chunk-size 64, chunk_size in the config, "
                         "--subbatch_size 128)"),
                L(INPUT, "a shorter sequence, parts of it, or fewer MSA sequences (--max_msa_seqs 2048): memory grows "
                         "with the square of the length"),
                L(OFFLOAD, "--cpu-offload, or the processor"), L(PRECISION, "bf16"),
                L(BATCH, "a smaller crop_size; batch 1; blocks_per_ckpt: 1")}},

    /* --- sound -------------------------------------------------------------------------------------------------- */
    {PROGRAM("Whisper",
             "whisper/ faster_whisper/ faster-whisper whisperx/ whisper.load_model whisper.transcribe whispermodel( "
             "whisper_ "
             "whisper-ctranslate2 whisperjav",
             "whisper whisperx faster-whisper"),
     INFER, .order = "model quantize fewer",
     .levers = {L(MODEL, "--model small (or medium, turbo) instead of large"),
                L(QUANTIZE, "faster-whisper with compute_type='int8' (whisperX: --compute_type int8)"),
                L(FEWER,
                  "--batch_size 4 (whisperX), --beam_size 1; shorter pieces; one file at a time in a fresh process"),
                L(BATCH, "per_device_train_batch_size={half_batch}, gradient_accumulation_steps doubled"),
                L(CHECKPOINT, "gradient_checkpointing=True, model.config.use_cache = False"),
                L(ADAPTERS, "LoRA over an 8-bit model (peft)"),
                L(EVAL, "per_device_eval_batch_size=1, predict_with_generate with generation_max_length=225")}},
    {PROGRAM("Demucs, Spleeter", "demucs/ demucs. spleeter uvr5 ultimatevocalremover", "demucs spleeter"), INFER,
     .order = "tiles own",
     .levers = {L(TILES, "--segment 7 (demucs), shorter pieces of audio"),
                L(OWN, "PYTORCH_NO_CUDA_MEMORY_CACHING=1; -d cpu; --jobs 1"),
                L(HOST, "shorter pieces of audio; --jobs 1")}},
    {PROGRAM("Bark", "bark/ suno_use_small_models preload_models", "bark"), INFER, .order = "own input length",
     .levers = {L(OWN, "SUNO_USE_SMALL_MODELS=True SUNO_OFFLOAD_CPU=True before the import"),
                L(INPUT, "a shorter sample of the voice that is cloned (5 to 10 s of speaker.wav)"),
                L(LENGTH, "a sentence at a time (13 s of speech at most), joined afterwards")}},
    {PROGRAM("AudioCraft", "audiocraft/ musicgen", "audiocraft musicgen"), INFER, .order = "length model",
     .levers = {L(LENGTH, "set_generation_params(duration=10); one prompt at a time"), L(MODEL, "musicgen-small"),
                L(BATCH, "dataset.batch_size halved, dataset.segment_duration lower")}},

    /* --- language models: serving --------------------------------------------------------------------------------- */
    {PROGRAM("text-generation-inference",
             "text_generation_server/ text-generation-launcher text_generation_launcher text-generation-inference "
             "--max-batch-prefill-tokens",
             "tgi"),
     SERVE, .order = "fewer quantize length shard",
     .levers = {L(FEWER, "--max-batch-prefill-tokens 2048 --max-concurrent-requests 16"),
                L(QUANTIZE, "--quantize bitsandbytes-nf4 (or awq, gptq, eetq)"),
                L(LENGTH, "--max-input-length 1024 --max-total-tokens 2048"), L(SHARD, "--num-shard 2"),
                L(MODEL, "a smaller model"), L(CACHE, "--cuda-memory-fraction 0.8")}},
    {PROGRAM("SGLang", "sglang/ sglang. --mem-fraction-static mem_fraction_static launch_server", "sglang"), SERVE,
     .order = "cache fewer graphs length quantize shard",
     .levers = {L(CACHE, "--mem-fraction-static {lower}: more is left to activations"),
                L(FEWER, "--chunked-prefill-size 2048 --max-running-requests 16"),
                L(GRAPHS, "--cuda-graph-max-bs 8, or --disable-cuda-graph"), L(LENGTH, "--context-length 8192"),
                L(QUANTIZE, "--quantization fp8 (or awq), --kv-cache-dtype fp8_e5m2"), L(SHARD, "--tp 2"),
                L(MODEL, "a smaller model")}},
    {PROGRAM("vLLM",
             "vllm/ vllm. [core.py: enginecore_ (enginecore vllmworkerprocess gpu_model_runner llm_engine.py "
             "--gpu-memory-utilization "
             "gpu_memory_utilization --max-model-len vllmserve",
             "vllm"),
     SERVE, .images = true, .order = "cache input fewer length graphs quantize shard model",
     .levers = {L(CACHE,
                  "--gpu-memory-utilization {lower} (gpu_memory_utilization={lower}): more is left to what it does "
                  "not plan"),
                L(LENGTH, "--max-model-len 4096"), L(FEWER, "--max-num-seqs 16 --max-num-batched-tokens 2048"),
                L(INPUT, "--limit-mm-per-prompt '{\"image\": 1, \"video\": 0}', --mm-processor-kwargs "
                         "'{\"max_pixels\": 1003520}'"),
                L(GRAPHS, "--enforce-eager"), L(QUANTIZE, "--quantization awq (or gptq, fp8) with such weights"),
                L(SHARD, "--tensor-parallel-size 2, or more"), L(OFFLOAD, "--cpu-offload-gb 8"),
                L(MODEL, "a model with fewer parameters"),
                L(HOST, "--swap-space 0, fewer --tensor-parallel workers loading at once; safetensors; a larger "
                        "container")}},
    {PROGRAM("LMDeploy", "lmdeploy/ lmdeployserve turbomind [tm]", "lmdeploy"), SERVE,
     .order = "cache length quantize shard",
     .levers = {L(CACHE, "--cache-max-entry-count 0.4 (TurbomindEngineConfig(cache_max_entry_count=0.4))"),
                L(LENGTH, "--session-len 4096"), L(QUANTIZE, "--model-format awq with such weights, --quant-policy 8"),
                L(SHARD, "--tp 2"), L(MODEL, "a smaller model")}},
    {PROGRAM("TensorRT-LLM", "tensorrt_llm/ trtllm tensorrt-llm [trt-llm] tensorrtllm", "tensorrt-llm"), SERVE,
     .order = "cache fewer quantize shard",
     .levers = {L(CACHE, "kv_cache_config={'free_gpu_memory_fraction': 0.5} (kv_cache_free_gpu_mem_fraction: 0.5)"),
                L(FEWER, "trtllm-build --max_batch_size 8 --max_num_tokens 4096 --max_input_len 2048"),
                L(QUANTIZE, "a quantized checkpoint (--qformat fp8 or int4_awq)"), L(SHARD, "--tp_size 2"),
                L(OFFLOAD, "--load_model_on_cpu while converting or building"), L(MODEL, "a smaller model"),
                L(HOST, "--workers 1 while converting; --load_by_shard; more memory or swap for the build")}},
    {PROGRAM("Triton Inference Server", "tritonserver triton-inference-server model_repository config.pbtxt triton_",
             "tritonserver"),
     SERVE, .framework = "cuda", .order = "fewer cache precision",
     .levers = {L(FEWER, "instance_group [{ count: 1 }] and a smaller max_batch_size in config.pbtxt"),
                L(CACHE,
                  "for TensorFlow --backend-config=tensorflow,gpu-memory-fraction=0.4; for ONNX gpu_mem_limit and "
                  "arena_extend_strategy in the model's parameters"),
                L(PRECISION, "a model in fp16; fewer models loaded (--model-control-mode=explicit)"),
                L(HOST, "fewer instances and models; --pinned-memory-pool-byte-size lower; docker --shm-size=1g")}},
    {PROGRAM("text-generation-webui",
             "text-generation-webui oobabooga modules/models.py exllamav2_hf llamacpp_hf one_click.py",
             "oobabooga text-generation-webui ooba"),
     INFER, .order = "quantize offload model length",
     .levers = {L(QUANTIZE, "a GGUF or EXL2 file of about 4 bits, or --load-in-4bit"),
                L(OFFLOAD, "a GGUF file with fewer --n-gpu-layers, or --gpu-memory 5 (--pre_layer 20 for GPTQ)"),
                L(LENGTH, "a context (max_seq_len, n_ctx) of 2048; cache_4bit or cache_8bit"),
                L(MODEL, "7B instead of 13B, or fewer bits"),
                L(BATCH, "micro batch size 1, a shorter cutoff length, rank 8, the model in 4 bits")}},
    {PROGRAM("KoboldAI and koboldcpp", "koboldcpp koboldai kobold-", "koboldcpp koboldai kobold"), INFER,
     .framework = "llama.cpp", .order = "offload length quantize",
     .levers = {L(OFFLOAD, "fewer --gpulayers (KoboldAI: fewer layers on the GPU's slider)"),
                L(LENGTH, "--contextsize 4096; --quantkv 1 with --flashattention"), L(QUANTIZE, "a Q4_K_M file"),
                L(MODEL, "a model with fewer parameters")}},
    {PROGRAM("LM Studio", "lmstudio lm-studio .lmstudio", "lmstudio"), INFER, .framework = "llama.cpp",
     .order = "offload length quantize",
     .levers = {L(OFFLOAD, "a lower GPU Offload on the model's load page"),
                L(LENGTH, "a Context Length of 4096; K and V cache in Q8_0 with Flash Attention"),
                L(QUANTIZE, "a Q4_K_M file, or a model with fewer parameters"),
                L(MODEL, "a model with fewer parameters"),
                L(HOST, "a smaller file: it must fit into memory; Try mmap on, Keep Model in Memory off")}},
    {PROGRAM("llama-cpp-python",
             "llama_cpp/ llama_cpp. from_llama_cpp n_gpu_layers= llm=llamacpp( llamacpp( privategpt localgpt",
             "llama-cpp-python privategpt localgpt"),
     INFER, .framework = "llama.cpp", .order = "shard offload length quantize",
     .levers = {L(OFFLOAD, "n_gpu_layers={layers}, lower until it fits"),
                L(SHARD,
                  "tensor_split=[3, 3, 3, 1] with the smallest figure for the card that failed (0 leaves it out)"),
                L(LENGTH, "n_ctx=2048, n_batch=256 (n_ubatch=256)"), L(QUANTIZE, "a Q4_K_M file"),
                L(MODEL, "a model with fewer parameters"),
                L(HOST, "a smaller file; use_mmap=True, use_mlock=False; n_ctx=2048")}},
    {PROGRAM("KTransformers", "ktransformers/ ktransformers. --cpu_infer --cache_lens local_chat.py", "ktransformers"),
     INFER, .order = "length fewer quantize",
     .levers = {L(LENGTH, "--cache_lens 32768 (server), --max_new_tokens lower and a shorter prompt; attention on "
                          "flashinfer"),
                L(FEWER, "--chunk_size 128 (a part of the prompt at a time), --max_batch_size 1"),
                L(QUANTIZE, "a GGUF file of fewer bits; in the optimize rules more experts on the processor"),
                L(HOST, "a GGUF file of fewer bits; --cpu_infer lower")}},
    {PROGRAM("ExLlamaV2", "exllamav2/ exllamav2. exllamav3/ tabbyapi", "exllamav2 exllamav3 tabbyapi"), INFER,
     .order = "length quantize shard",
     .levers = {L(LENGTH, "-l 4096 (config.max_seq_len, max_seq_len in TabbyAPI), -cq4 (cache_mode: Q4)"),
                L(QUANTIZE, "an EXL2 file of fewer bits (2.4bpw)"), L(SHARD, "-gs 10,14 (gpu_split) over two cards"),
                L(MODEL, "a model with fewer parameters")}},
    {PROGRAM("FastChat", "fastchat/ fastchat. --max-gpu-memory", "fastchat vicuna"), INFER,
     .order = "quantize shard offload",
     .levers = {L(QUANTIZE, "--load-8bit"), L(SHARD, "--num-gpus 2 --max-gpu-memory 8GiB"),
                L(OFFLOAD, "--load-8bit --cpu-offloading"),
                L(BATCH, "--per_device_train_batch_size 1 --gradient_accumulation_steps 16"),
                L(CHECKPOINT, "--gradient_checkpointing True"),
                L(ADAPTERS, "train_lora.py (--q_lora True) instead of train.py"), L(LENGTH, "--model_max_length 1024"),
                L(MODEL, "7B instead of 13B")}},

    /* --- learning without networks --------------------------------------------------------------------------------- */
    {PROGRAM("BERTopic and UMAP", "bertopic umap/ umap_ hdbscan/", "bertopic umap hdbscan"), INFER,
     .framework = "python", .order = "own fewer",
     .levers = {L(OWN, "low_memory=True, calculate_probabilities=False, CountVectorizer(min_df=10)"),
                L(FEWER, "embeddings made before, in batches: model.encode(docs, batch_size=32)"),
                L(HOST, "low_memory=True, calculate_probabilities=False, CountVectorizer(min_df=10); fit on a sample, "
                        "transform the rest")}},
    {PROGRAM("scikit-learn", "sklearn/ sklearn.", "scikit-learn sklearn"), INFER, .framework = "python",
     .levers = {L(HOST, "partial_fit (SGDClassifier, MiniBatchKMeans, IncrementalPCA) on blocks; sparse input without "
                        ".toarray(); n_jobs=1; float32")}},
    {PROGRAM("Seurat", "seurat findintegrationanchors integratedata integratelayers sctransform findvariablefeatures",
             "seurat"),
     INFER, .framework = "r",
     .levers = {L(HOST, "reduction = 'rpca' (RPCAIntegration, HarmonyIntegration) instead of CCA; reference = 1 in "
                        "FindIntegrationAnchors; SCTransform(conserve.memory = TRUE)"),
                L(HOST_MORE, "rm() of what is done, gc(); DietSeurat(); fewer features.to.integrate; SketchData() or "
                             "BPCells for very many cells")}},
    {PROGRAM("Scanpy", "scanpy/ scanpy. anndata/", "scanpy anndata"), INFER, .framework = "python",
     .levers = {L(HOST,
                  "keep the matrix sparse; anndata.read_h5ad(path, backed='r'); a subset of highly variable genes; "
                  "fewer cells at a time")}},
};
const size_t plim__programs_use_count = sizeof plim__programs_use / sizeof *plim__programs_use;

/* What many of the programs above stand on: they count when nothing above is found. */
const plim__program plim__programs_general[] = {
    {PROGRAM("DeepSpeed",
             "deepspeed/runtime ds_config zero_optimization deepspeed/ops train_micro_batch_size_per_gpu --zero_stage "
             "deepspeed--num_gpus",
             "deepspeed"),
     TRAIN, .order = "batch checkpoint offload shard length",
     .levers = {L(BATCH, "\"train_micro_batch_size_per_gpu\": {half_batch}, \"gradient_accumulation_steps\" doubled"),
                L(CHECKPOINT, "model.gradient_checkpointing_enable() (--gradient_checkpointing)"),
                L(OFFLOAD, "\"offload_optimizer\": {\"device\": \"cpu\"} in zero_optimization (with stage 3 "
                           "\"offload_param\" too)"),
                L(SHARD, "\"zero_optimization\": {\"stage\": 3}, the model made under deepspeed.zero.Init() "
                         "(HfDeepSpeedConfig before "
                         "from_pretrained); or more cards"),
                L(LENGTH, "shorter sequences (max_length, model_max_length)"),
                L(HOST,
                  "offload_optimizer to NVMe, \"pin_memory\": false, or stage 2 without offload; fewer ranks a node"),
                L(HOST_MORE, "adapters (LoRA) instead of all weights, whose state is 12 bytes a parameter; more host "
                             "memory or swap")}},
    {PROGRAM(
         "Hugging Face Trainer",
         "transformers/trainer.py transformers/trainer_seq2seq trainingarguments trl/ sfttrainer run_clm.py run_mlm.py "
         "run_glue.py run_qa.py run_ner.py run_language_modeling trainer.evaluate( run_summarization run_translation "
         "per_device_train_batch_size seq2seqtrainer "
         "nested_concat preds_host compute_metrics evaluation_strategy",
         NULL),
     TRAIN, .batch = 8, .order = "batch checkpoint length precision optimizer adapters shard",
     .levers = {L(BATCH, "per_device_train_batch_size={half_batch}, gradient_accumulation_steps doubled"),
                L(QUANTIZE, "BitsAndBytesConfig(load_in_4bit=True) with LoRA (QLoRA)"),
                L(CHECKPOINT, "gradient_checkpointing=True (--gradient_checkpointing)"),
                L(LENGTH, "max_length (max_seq_length, block_size) halved, with truncation=True"),
                L(PRECISION, "bf16=True (or fp16=True)"), L(OPTIMIZER, "optim='adamw_bnb_8bit' (or 'adafactor')"),
                L(ADAPTERS, "peft.get_peft_model(model, LoraConfig(...)); the base in 4 bits: BitsAndBytesConfig"
                            "(load_in_4bit=True)"),
                L(SHARD, "deepspeed='ds_config.json' with stage 3, or fsdp='full_shard'"),
                L(EVAL, "eval_accumulation_steps=8 (predictions go to the host), per_device_eval_batch_size=1"),
                L(EVAL_MORE, "preprocess_logits_for_metrics that keeps the argmax (batch_eval_metrics=True), or "
                             "prediction_loss_only=True"),
                L(HOST, "preprocess_logits_for_metrics that keeps the argmax, a part of the data in evaluation; "
                        "dataloader_num_workers=0, data sets that are mapped (datasets) or streamed")}},
    {PROGRAM("timm", "timm/ timm. pytorch-image-models", "pytorch-image-models timm"), TRAIN,
     .order = "batch precision checkpoint input",
     .levers = {L(BATCH, "-b {half_batch} --grad-accum-steps 2"), L(PRECISION, "--amp"),
                L(CHECKPOINT, "--grad-checkpointing (model.set_grad_checkpointing())"), L(INPUT, "--img-size 192"),
                L(EVAL, "-vb 16 (a validation batch of its own)")}},
    {PROGRAM("fastai", "fastai/ fastai2/ learn.lr_find unet_learner vision_learner cnn_learner", "fastai"), TRAIN,
     .order = "batch precision input model release",
     .levers = {L(BATCH, "bs={half_batch} in the DataLoaders; GradientAccumulation(n_acc=64)"),
                L(PRECISION, "learn.to_fp16()"), L(INPUT, "Resize(224) or a smaller size="),
                L(MODEL, "a smaller backbone (resnet18, resnet34)"),
                L(RELEASE, "del learn; gc.collect(); torch.cuda.empty_cache(), or restart the kernel")}},
    {PROGRAM("PyTorch Lightning",
             "pytorch_lightning/ lightning/pytorch lightning/fabric pl.trainer accumulate_grad_batches",
             "lightning pytorch-lightning"),
     TRAIN, .order = "batch precision checkpoint shard input",
     .levers = {L(BATCH, "batch_size={half_batch} in the DataLoader, Trainer(accumulate_grad_batches=2)"),
                L(PRECISION, "Trainer(precision='16-mixed') (before 2.0: precision=16)"),
                L(CHECKPOINT, "{at}torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)"),
                L(SHARD, "Trainer(strategy='fsdp') or 'deepspeed_stage_3' over the cards"),
                L(INPUT, "{at}smaller images or shorter sequences"),
                L(EVAL, "a smaller batch in val_dataloader(); log numbers, and keep no outputs of validation_step on "
                        "the device")}},
    {PROGRAM("diffusers",
             "diffusers/ diffusers. stablediffusionpipeline diffusionpipeline pipelines/stable_diffusion prompt_embeds "
             "stablediffusionxlpipeline stablediffusion3pipeline stablediffusionimg2img stablediffusioninpaint "
             "stablediffusioncontrolnet fluxpipeline autopipelinefor",
             "diffusers"),
     INFER, .order = "offload more tiles input quantize precision",
     .levers = {L(OWN, "encode the prompt with the text encoder alone, del it, then load the rest with "
                       "text_encoder=None (prompt_embeds=...)"),
                L(KERNELS, "PyTorch 2's own attention or pipe.enable_xformers_memory_efficient_attention()"),
                L(OFFLOAD, "{at}pipe.enable_model_cpu_offload() instead of pipe.to('cuda') (less still: "
                           "enable_sequential_cpu_offload())"),
                L(OFFLOAD_MORE, "{at}pipe.enable_sequential_cpu_offload(), or group offloading "
                                "(pipe.transformer.enable_group_offload(...)), instead of enable_model_cpu_offload()"),
                L(TILES, "pipe.vae.enable_tiling(); pipe.enable_attention_slicing()"),
                L(PRECISION, "torch_dtype=torch.float16 in from_pretrained"),
                L(INPUT, "lower height, width and num_frames; num_images_per_prompt=1"),
                L(QUANTIZE, "quantization_config with BitsAndBytesConfig(load_in_4bit=True) for the transformer; GGUF "
                            "files"),
                L(BATCH, "train_batch_size 1 with gradient accumulation"),
                L(CHECKPOINT, "unet.enable_gradient_checkpointing()"), L(OPTIMIZER, "bitsandbytes.optim.AdamW8bit"),
                L(ADAPTERS, "LoRA instead of the whole UNet or transformer")}},

    /* --- no program, but the kind of data: nameless scripts ------------------------------------------------------- */
    {PROGRAM("a model of pictures and words",
             "qwen2vl qwen2_vl qwen2_5_vl qwen3_vl qwen2-vl qwen2.5-vl qwen3-vl internvl minicpm-v minicpmv "
             "max_pixels deepseek_vl cogvlm web_demo_mm",
             "qwen-vl llava-onevision idefics paligemma molmo phi-3-vision glm-4v"),
     INFER, .order = "input kernels quantize fewer length",
     .levers = {L(INPUT,
                  "fewer pixels: AutoProcessor.from_pretrained(..., max_pixels=512*28*28) or \"max_pixels\" in the "
                  "message (Qwen-VL), max_num=6 (InternVL); smaller or fewer images and frames"),
                L(KERNELS, "attn_implementation='flash_attention_2' in from_pretrained"),
                L(QUANTIZE, "an AWQ or GPTQ version, or BitsAndBytesConfig(load_in_4bit=True)"),
                L(FEWER, "one image at a time; max_new_tokens=256"),
                L(BATCH, "per_device_train_batch_size=1 with accumulation, and fewer pixels (max_pixels)"),
                L(CHECKPOINT, "gradient_checkpointing=True, for the vision tower too"),
                L(ADAPTERS, "LoRA with the vision tower frozen"), L(LENGTH, "shorter prompts; max_new_tokens=256")}},
    {PROGRAM("a model of graphs", "ogbn_ ogbn- nodeproppred adjacencymatrix adjencymatrix",
             "gcn gnn graphsage adjacency lightgcn"),
     TRAIN, .order = "batch input precision",
     .levers = {L(BATCH, "samples of the graph instead of the whole: NeighborLoader(data, num_neighbors=[10, 10], "
                         "batch_size=512), ClusterLoader; some graphs at a time"),
                L(INPUT,
                  "fewer layers and hidden channels; edge_index or a sparse tensor instead of a dense N x N matrix"),
                L(PRECISION, "torch.autocast('{device}')"),
                L(FEWER, "layer by layer over a NeighborLoader, under torch.no_grad()"),
                L(EVAL, "layer by layer over a NeighborLoader, under torch.no_grad()"),
                L(HOST, "a sparse matrix (scipy.sparse.csr_matrix, torch.sparse) instead of a dense N x N one; no "
                        ".todense(), .toarray()"),
                L(HOST_MORE, "parts of the graph or some graphs at a time, made as they are needed")}},
    {PROGRAM("a model that makes images larger", NULL,
             "super-resolution superresolution upscale upscaling upscaler upscales"),
     INFER, .order = "tiles input precision",
     .levers = {L(TILES,
                  "the program's tile size (--tile 256), where it has one; by hand: the picture cut into parts that "
                  "overlap, one after another"),
                L(INPUT, "a smaller image or a smaller factor, one at a time; on the processor if it must be that "
                         "large"),
                L(PRECISION, "half precision, where the program has it"),
                L(BATCH, "batch_size_per_gpu: {half_batch}, gt_size: 128 in the options file")}},
    {PROGRAM("a model of proteins", NULL, "protein proteins residues multimer amino"), INFER,
     .order = "tiles input precision",
     .levers = {L(TILES, "work in chunks (a chunk size of 64 or 32 where the program has one)"),
                L(INPUT, "a shorter sequence, or parts of it: memory grows with the square of the length and more"),
                L(PRECISION, "bf16 or fp16"),
                L(BATCH, "batch {half_batch}, with shorter sequences or crops together")}},
    {PROGRAM("a model of video", NULL,
             "video videos video_length num_frames num_segments clip_len --fps --video video_path clips"),
     INFER, .order = "tiles input precision model",
     .levers = {L(TILES, "{at}fewer frames at a time: parts of the video one after another, results moved to the host"),
                L(INPUT, "{at}a lower resolution, or every second frame"),
                L(PRECISION, "torch.autocast('{device}', dtype=torch.float16), or model.half()"),
                L(BATCH, "{at}batch_size={half_batch} with twice the accumulation steps"),
                L(CHECKPOINT, "{at}torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)"),
                L(MODEL, "a smaller model of the family"),
                L(HOST, "{at}frames read and written one after another (a generator, an encoder's pipe) instead of a "
                        "list of all; parts of the video")}},
    {PROGRAM("a model of sound", NULL,
             "audio audios speech voice voices voice-cloning vocode synthesize wav mp3 waveform spectrogram vocoder "
             "tts asr music song clone-voice voice-clone wav2vec2 hubert "
             "cosyvoice f5-tts"),
     INFER, .order = "tiles precision fewer model",
     .levers = {L(TILES, "{at}shorter pieces of sound or text, one after another, put together on the host"),
                L(PRECISION, "torch.autocast('{device}', dtype=torch.float16), or model.half()"),
                L(FEWER, "one recording or sentence at a time"),
                L(BATCH, "{at}batch_size={half_batch} with twice the accumulation steps"),
                L(LENGTH, "leave out or cut the longest recordings"), L(MODEL, "a smaller model of the family"),
                L(HOST, "{at}a paragraph of text or a minute of sound at a time, each result written to a file of its "
                        "own and joined afterwards")}},
    {PROGRAM("a model of volumes", NULL, "volumetric voxels ct mri nifti .nii brats 3d-unet unet3d 3dunet conv3d"),
     TRAIN, .order = "input batch precision checkpoint",
     .levers = {L(INPUT, "{at}smaller patches (64 x 64 x 64 holds an eighth of 128 x 128 x 128)"),
                L(BATCH, "{at}batch_size={half_batch} with twice the accumulation steps"),
                L(PRECISION, "torch.autocast('{device}', dtype=torch.float16) with a GradScaler"),
                L(CHECKPOINT, "{at}torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)"),
                L(TILES, "{at}windows of the volume, one after another, put together on the host"),
                L(MODEL, "fewer channels")}},
    {PROGRAM("a model of points", NULL,
             "pointcloud point-cloud pointclouds lidar pointnet pointnet++ nuscenes scannet"),
     TRAIN, .order = "batch input precision",
     .levers = {L(BATCH, "{at}batch_size={half_batch} with twice the accumulation steps"),
                L(INPUT, "{at}fewer points a sample, larger voxels, or pieces of the scene"),
                L(PRECISION, "torch.autocast('{device}', dtype=torch.float16)"),
                L(TILES, "{at}pieces of the scene, one after another")}},
};
const size_t plim__programs_general_count = sizeof plim__programs_general / sizeof *plim__programs_general;

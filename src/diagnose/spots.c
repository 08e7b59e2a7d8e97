/* The table of places that name their own cure. */
#include "diagnose/spots.h"

#include <string.h>

#define ADVICE(lever, title, setting)                                                                                  \
    { PLIM_LEVER_##lever, title, setting }

const plim__spot plim__spots[] = {
    /* --- one matrix of all with all ----------------------------------------------------------------------------- */
    {"a graph made dense",
     {"to_dense_adj", "to_dense_batch", "adj.to_dense", "adj.todense"},
     "!host",
     {ADVICE(INPUT, "Keep the graph sparse: a dense matrix of all nodes has that size",
             "{at}edge_index or SparseTensor instead of to_dense_adj; a model without a dense decoder"),
      ADVICE(BATCH, "Take a sample of the graph at a time",
             "NeighborLoader(data, num_neighbors=[10, 10], batch_size=512), or parts of the graph")}},
    {"boxes assigned to anchors",
     {"max_iou_assigner", "iou2d_calculator", "maxiouassigner", "rbbox_overlaps"},
     "!host !infer",
     {ADVICE(OWN, "Assign boxes on the processor where an image has many: the matrix is boxes times anchors",
             "gpu_assign_thr=200 in the MaxIoUAssigner of train_cfg"),
      ADVICE(INPUT, "Cut the images into smaller tiles, with fewer boxes each",
             "a smaller tile or RandomCrop; samples with thousands of boxes left out")}},
    {"distances of all pairs",
     {"cdist(", "pairwise_dist", "square_distance(", "pdist(", "get_dist("},
     "!host single !load",
     {ADVICE(TILES, "Compute the matrix of distances in blocks",
             "{at}for part in x.split(1024): d = torch.cdist(part, y), and keep only what is needed of each"),
      ADVICE(INPUT, "Compare fewer points at a time", "a sample of them, or a smaller batch")}},
    {"distances of all pairs on the host",
     {"pairwise_distances", "euclidean_distances", "kneighbors", "silhouette_", "affinitypropagation", "agglomerative",
      "linkage(", "squareform"},
     "host",
     {ADVICE(TILES, "Do not build the matrix of all pairs",
             "{at}sklearn.metrics.pairwise_distances_chunked, a tree or approximate neighbours; a sample"),
      ADVICE(OTHER, "Use a method that needs no such matrix", "MiniBatchKMeans, HDBSCAN or BIRCH; fewer rows")}},
    {"a table read whole",
     {"read_csv(", "read_parquet(", "read_excel(", "read_table(", "read_sql("},
     "host !merges",
     {ADVICE(INPUT, "Read fewer columns, in narrower types",
             "{at}pd.read_csv(path, usecols=[...], dtype={'name': 'category', 'count': 'int32', 'value': 'float32'})"),
      ADVICE(TILES, "Read and reduce it in pieces, or lazily",
             "{at}for part in pd.read_csv(path, chunksize=1_000_000): ...; or polars.scan_csv(path)...collect("
             "engine='streaming')")}},
    {"a test behind a training",
     {"trainer.test("},
     "gpu !host",
     {ADVICE(RELEASE,
             "Release what training holds before the test: gradients and the optimizer's state stay until then",
             "trainer.save_checkpoint(path), then a process of its own (or a new Trainer) that loads it and calls "
             "test()"),
      ADVICE(EVAL, "Use a smaller batch in the test",
             "a batch_size of its own in test_dataloader(); test_step returns numbers, no outputs")}},
    {"a sparse matrix made dense",
     {".toarray()", ".todense()", "get_dummies", "onehotencoder", "as.matrix("},
     "host !tiny",
     {ADVICE(OTHER, "Keep it sparse",
             "{at}scipy.sparse as it is (sparse_output=True, pd.get_dummies(sparse=True)); R: "
             "the Matrix package instead of as.matrix()"),
      ADVICE(INPUT, "Keep fewer columns", "min_df= and max_features= of a vectorizer; rare categories as one")}},

    {"distances of the first points",
     {"distcuda2"},
     "!host",
     {ADVICE(
          CHECK, "Build simple-knn again for this card: a build for another CUDA asks for absurd sizes",
          "pip install submodules/simple-knn with the CUDA toolkit of torch.version.cuda and TORCH_CUDA_ARCH_LIST of "
          "this card"),
      ADVICE(INPUT, "Begin with fewer points", "a thinned input.ply or points3D; -r 2")}},
    {"views read onto the device",
     {"cameralist_from_caminfos", "loadcam("},
     "!host",
     {ADVICE(OFFLOAD, "Keep the images in host memory: it is they that fill the device", "--data_device cpu"),
      ADVICE(INPUT, "Use smaller or fewer images", "-r 4 (-r 8); a part of the views")}},
    {"one rasterization beyond all reason",
     {"_c.rasterize_gaussians"},
     "!host huge",
     {ADVICE(INPUT, "Render smaller images: the request grows with pixels times the Gaussians above each",
             "-r 2 (or 4)"),
      ADVICE(CHECK,
             "Check the scene's scale and the first points: Gaussians as wide as the picture make such a request",
             "a point cloud without far outliers; the rasterizer built again for this CUDA "
             "(pip install submodules/diff-gaussian-rasterization)")}},
    {"padding on a TPU",
     {"utilization:unpadded("},
     "tpu",
     {ADVICE(INPUT, "Lay the arrays out so that their last two axes are large: a TPU pads them to 8 and 128",
             "channels or batch last, small axes merged by reshape (the list above shows unpadded against padded "
             "sizes)"),
      ADVICE(BATCH, "Use a smaller batch or pieces of the largest array",
             "jax.lax.map over its first axis; bfloat16")}},
    {"a spread model moved to one card",
     {").cuda()", ").to(\"cuda", ").to('cuda", ").to(device)"},
     "device-map !train !host",
     {ADVICE(KEEP, "Drop the move behind from_pretrained: device_map places the layers, and it brings all to one card",
             "{at}from_pretrained(..., device_map='auto') without .cuda() or .to(...)"),
      ADVICE(PRECISION, "Load the weights in 16 bits", "torch_dtype=torch.float16 (or bfloat16) in from_pretrained")}},
    {"TensorFlow beside PyTorch",
     {"createddevice/job:localhost", "createdtensorflowdevice"},
     "pytorch gpu !host",
     {ADVICE(NEIGHBOURS, "Keep TensorFlow off the card: in the same process it takes most of it at its start",
             "tf.config.set_visible_devices([], 'GPU') before its first use, or TF_FORCE_GPU_ALLOW_GROWTH=true")}},
    {"a processor's own graphics",
     {"amdradeongraphics", "amdradeon(tm)graphics", "intel(r)uhdgraphics", "intel(r)irisxe"},
     "multigpu !host !train",
     {ADVICE(NEIGHBOURS, "Leave the processor's own graphics unit out: it has next to no memory",
             "{visible}=0 in front of the command, with the number of the card (Vulkan: GGML_VK_VISIBLE_DEVICES=0)")}},
    {"a decoding in tiles",
     {"vaedecodetiled", "vae_decode_tiled"},
     "!host",
     {ADVICE(TILES, "Use smaller tiles, in space and time",
             "tile_size 256, overlap 32, temporal_size 16 in the node VAE Decode (Tiled)"),
      ADVICE(INPUT, "Make fewer frames or a smaller picture", "a smaller length, width and height of the latent")}},
    {"a server that wakes beside the training",
     {"cumem_allocator", "wake_up(", "wakeup"},
     "!host trains",
     {ADVICE(CACHE, "Give vLLM a smaller share, so that it finds room when it wakes",
             "a lower gpu_memory_utilization of the rollout (--vllm_gpu_memory_utilization, "
             "rollout.gpu_memory_utilization)"),
      ADVICE(OFFLOAD, "Move the trainer's state to the host before the rollout",
             "--deepspeed_enable_sleep --adam_offload (OpenRLHF), optimizer_offload=True (verl)")}},

    {"pictures of a prompt",
     {"limit_mm_per_prompt", "limit-mm-per-prompt", "multi-modalembeddings", "mm_processor_kwargs"},
     "!host !train",
     {ADVICE(INPUT, "Plan for fewer and smaller pictures in a prompt",
             "--limit-mm-per-prompt '{\"image\": 1}' --mm-processor-kwargs '{\"max_pixels\": 1003520}'"),
      ADVICE(FEWER, "Plan for fewer sequences and tokens", "--max-num-seqs 4 --max-num-batched-tokens 8192")}},

    /* --- attention and losses ----------------------------------------------------------------------------------- */
    {"the matrix of attention",
     {"torch.matmul(query", "attention_scores=", "get_attention_scores", "torch.baddbmm(", "q@k.transpose", "(q@k",
      "torch.matmul(q,", "attn_weights=torch"},
     "!host single !program torch>=2.0 !load",
     {ADVICE(KERNELS, "Use attention that never builds the whole matrix",
             "{at}F.scaled_dot_product_attention(q, k, v); transformers: attn_implementation='sdpa' or "
             "'flash_attention_2'"),
      ADVICE(LENGTH, "Use shorter sequences or smaller images: the matrix grows with their square",
             "half the length holds a quarter")}},
    {"logits of the whole sequence",
     {"logits.float()", "shift_logits", "logits=self.lm_head", "loss_function(logits", "forcausallmloss"},
     "!host train !first",
     {ADVICE(LENGTH, "Use shorter sequences: the logits are batch x length x vocabulary",
             "half of max_length (max_seq_length, cutoff_len)"),
      ADVICE(KERNELS, "Use a loss that never holds all logits",
             "use_liger_kernel=True (Trainer), or a chunked "
             "cross-entropy")}},
    {"a cache of keys and values",
     {"cache_utils.py", "past_key_value", "key_cache"},
     "!host infer llm !program",
     {ADVICE(LENGTH, "Use a shorter prompt and fewer new tokens: the cache grows with both",
             "{at}truncation=True with max_length; max_new_tokens=256; one sequence at a time"),
      ADVICE(CACHE, "Keep the cache in host memory", "generate(..., cache_implementation='offloaded')")}},

    /* --- what stays alive ------------------------------------------------------------------------------------------- */
    {"a list of results on the device",
     {"outputs.append(", "preds.append(", "predictions.append(", "features.append(", "losses.append(loss",
      "total_loss+=loss", "running_loss+=loss"},
     "!host !load gpu !optimizer",
     {ADVICE(KEEP, "Move what is gathered to the host: such a list or sum holds every batch",
             "{at}preds.append(out.detach().cpu()); total_loss += loss.item()")}},
    {"one-hot volumes",
     {"one_hot(", "to_onehot", "asdiscrete"},
     "!host single",
     {ADVICE(KEEP, "Make the one-hot form on the host, or do without it",
             "{at}outputs.cpu() before AsDiscrete or one_hot; argmax and compare classes one after another"),
      ADVICE(INPUT, "Evaluate one volume or part of it at a time", "a larger spacing, or a crop around what counts")}},
    {"a graph that is retained",
     {"retain_graph=true"},
     "!host train",
     {ADVICE(KEEP, "Do without retain_graph=True: it keeps every step's graph",
             "{at}one backward pass over the sum of the losses; .detach() what goes on to the next step")}},
    {"the whole data set on the device",
     {"x_train.to(", "x_train.cuda(", "train_x.to(", "x_test.to(", "xtrain.to(", "train_data.to("},
     "!host",
     {ADVICE(INPUT, "Move a batch at a time, not the whole data set",
             "{at}DataLoader(TensorDataset(x, y), batch_size=64), and x.to(device) inside the loop")}},
    {"state gathered by FSDP",
     {"_state_dict_utils.py", "failedtoclone()tensor", "fullstatedictconfig", "fsdp/_optim_utils"},
     "!host",
     {ADVICE(KEEP, "Gather the state on the host, on rank 0 only",
             "FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, "
             "rank0_only=True))"),
      ADVICE(SHARD, "Save shards, each rank its own, and join them afterwards",
             "StateDictType.SHARDED_STATE_DICT (accelerate: fsdp_state_dict_type: SHARDED_STATE_DICT)")}},
    {"adapters merged on the device",
     {"merge_and_unload"},
     "!host",
     {ADVICE(OFFLOAD, "Merge in host memory",
             "from_pretrained(base, device_map='cpu', torch_dtype=torch.float16), then "
             "PeftModel and merge_and_unload()")}},
    {"a copy of the model",
     {"copy.deepcopy(model", "deepcopy(self.model", "deepcopy(net"},
     "!host !load",
     {ADVICE(KEEP, "Keep the copy in host memory", "{at}copy.deepcopy(model).cpu(), or its state_dict() on the host")}},
    {"outputs gathered on the first card",
     {"scatter_gather.py", "comm.gather("},
     "!host !load",
     {ADVICE(SHARD, "Use a process for each card: DataParallel gathers everything on the first",
             "torchrun --nproc_per_node=N train.py with DistributedDataParallel"),
      ADVICE(BATCH, "Compute the loss inside the model, so that only a number is gathered",
             "forward() returns the loss; loss.mean(); or a smaller batch")}},
    {"a replay buffer",
     {"replay_buffer", "replaybuffer", "replaymemory", "size_in_transitions", "ddpg", "stable_baselines"},
     "host",
     {ADVICE(HOST, "Make the replay buffer smaller: it holds an observation of every step",
             "{at}fewer transitions (buffer_size, size_in_transitions); optimize_memory_usage=True "
             "(Stable-Baselines3)"),
      ADVICE(INPUT, "Store smaller observations", "uint8 instead of float32, smaller images, fewer stacked frames")}},

    {"a pool of processes",
     {"multiprocessing/pool.py", "multiprocessing\\pool.py", "pool.map(", "pool.starmap(", "futures/process.py",
      "processpoolexecutor(", "joblib/parallel.py"},
     "host !shm",
     {ADVICE(WORKERS, "Run fewer processes at a time: each holds its own data",
             "{at}Pool(2), max_workers=2 or n_jobs=2 instead of one for each core"),
      ADVICE(HOST, "Let each process write its result to a file instead of returning it",
             "{at}imap_unordered with small parts; maxtasksperchild=1 frees what a task left")}},
    {"unit tests",
     {"throwninthetestbody", "unknownfile:failure", "[==========]", "gtest_filter"},
     "!host",
     {ADVICE(NEIGHBOURS, "See who holds the device: a test asks for little, so it was taken before", "{smi}"),
      ADVICE(WORKERS, "Run one test at a time on a device",
             "ctest -j1 (or --gtest_filter=NAME); a reset of the node")}},

    /* --- preparing and saving ----------------------------------------------------------------------------------- */
    {"a data set that is mapped",
     {"examples/s", "arrow_dataset.py", "arrow_writer"},
     "host",
     {ADVICE(HOST, "Let map() write to disk in smaller batches, with fewer processes",
             "ds.map(f, batched=True, batch_size=100, writer_batch_size=100, num_proc=1, keep_in_memory=False)"),
      ADVICE(INPUT, "Pad and tokenize when a batch is made, not for the whole set",
             "DataCollatorWithPadding, ds.set_transform(f), or load_dataset(..., streaming=True)")}},
    {"calibration of a quantizer",
     {"cache_examples_on_gpu", "model.quantize(", "max_calib_", "awq/quantize"},
     "!host !train",
     {ADVICE(FEWER, "Calibrate with fewer and shorter samples, kept in host memory",
             "auto_gptq: quantize(examples, batch_size=1, cache_examples_on_gpu=False); AutoAWQ: max_calib_samples=64, "
             "max_calib_seq_len=256, n_parallel_calib_samples=1")}},
    {"a whole image segmented",
     {"whole_inference", "whole_inference("},
     "!host",
     {ADVICE(TILES, "Slide a window over the image instead of taking it whole",
             "test_cfg=dict(mode='slide', crop_size=(512, 512), stride=(341, 341))")}},
    {"beams of a search",
     {"beam_search", "num_beams="},
     "!host infer",
     {ADVICE(FEWER, "Search with fewer beams, one sequence at a time", "{at}num_beams=1, batch size 1")}},
};
const size_t plim__spot_count = sizeof plim__spots / sizeof *plim__spots;

size_t plim__spot_mark_count(void) {
    size_t count = 0;
    for (size_t i = 0; i < plim__spot_count; i++)
        for (size_t k = 0; k < PLIM_SPOT_MARKS && plim__spots[i].marks[k]; k++) count++;
    return count;
}

const char *plim__spot_mark(size_t n, size_t *spot) {
    for (*spot = 0; *spot < plim__spot_count; ++*spot)
        for (size_t k = 0; k < PLIM_SPOT_MARKS && plim__spots[*spot].marks[k]; k++)
            if (!n--) return plim__spots[*spot].marks[k];
    return "";
}

void plim__spot_read(plim__context *context, size_t mark, plim__text after) {
    static const char *const mended[] = {".item", ".detach", ".cpu", ".data", ".tolist", ".numpy", "float("};
    size_t spot;
    const char *text = plim__spot_mark(mark, &spot);
    if (spot >= PLIM_SPOTS) return;
    bool gathers = strstr(text, "append(") || strstr(text, "+=");
    plim__text line = {after.at, after.at};
    while (line.end < after.end && *line.end != '\n' && line.end - line.at < 60) line.end++;
    for (size_t i = 0; gathers && i < sizeof mended / sizeof *mended; i++)
        if (plim__has(line, (size_t)(line.end - line.at), mended[i])) return;
    context->spots |= (uint64_t)1 << spot;
}

bool plim__at_spot(const plim__context *context, const char *name) {
    for (size_t i = 0; i < plim__spot_count && i < PLIM_SPOTS; i++)
        if (strcmp(plim__spots[i].name, name) == 0) return context->spots >> i & 1;
    return false;
}

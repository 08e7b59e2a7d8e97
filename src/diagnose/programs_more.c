/* Programs of single fields: pictures with words, documents, faces, recommendations, genomes; and Java's builders. */
#include "diagnose/programs.h"

#define PROGRAM(program, mark_words, name_words) .name = program, .marks = mark_words, .names = name_words
#define TRAIN                                    .usual = PLIM_ACTIVITY_TRAIN
#define INFER                                    .usual = PLIM_ACTIVITY_INFER
#define L(lever, setting)                                                                                              \
    { PLIM_LEVER_##lever, setting }

const plim__program plim__programs_more[] = {
    /* --- detection ---------------------------------------------------------------------------------------------- */
    {PROGRAM("RF-DETR", "rfdetr/ rfdetr. fromrfdetr rfdetrbase rfdetrseg", "rf-detr rfdetr"), TRAIN,
     .order = "batch checkpoint input model",
     .levers = {L(BATCH, "batch_size={half_batch}, grad_accum_steps doubled (batch_size='auto' in newer versions)"),
                L(CHECKPOINT, "gradient_checkpointing=True when the model is made: RFDETRMedium(gradient_checkpointing="
                              "True)"),
                L(INPUT, "a lower resolution= when the model is made"), L(MODEL, "the Nano, Small or Base model"),
                L(FEWER, "one image at a time; model.optimize_for_inference()")}},
    {PROGRAM("the DETR family", "detrex/ deformable_detr models/ops/modules/ms_deform dn_detr/",
             "detr deformable-detr detrex mask-dino maskdino dab-detr dn-detr ow-detr rt-detr conditional-detr"),
     TRAIN, .order = "batch input checkpoint precision model",
     .levers = {L(BATCH, "--batch_size {half_batch} (detrex: dataloader.train.total_batch_size)"),
                L(INPUT, "smaller scales and max_size in datasets/coco.py (detrex: ResizeShortestEdge, max_size=800)"),
                L(CHECKPOINT, "torch.utils.checkpoint around the encoder's layers (use_checkpoint=True of Swin)"),
                L(PRECISION, "--amp (detrex: train.amp.enabled=True)"),
                L(MODEL, "fewer queries and layers: --num_queries 100 --enc_layers 3 --dec_layers 3; R50; 4 scales"),
                L(EVAL, "a smaller scale in testing; --batch_size 1 --eval")}},

    /* --- pictures with words, documents --------------------------------------------------------------------------- */
    {PROGRAM("marker and surya", "surya/ surya. marker/ marker_single marker. markerpdf", "surya marker-pdf"), INFER,
     .order = "fewer input own",
     .levers = {L(FEWER, "RECOGNITION_BATCH_SIZE=16 DETECTOR_BATCH_SIZE=4 LAYOUT_BATCH_SIZE=4 in the environment"),
                L(INPUT, "--page_range for some pages at a time; pages of a lower resolution"),
                L(OWN, "--workers 1; TORCH_DEVICE=cpu for the longest documents")}},
    {PROGRAM("MinerU and magic-pdf", "magic_pdf/ mineru/ magic-pdf", "mineru magic-pdf"), INFER,
     .order = "own input fewer",
     .levers = {L(OWN, "MINERU_VIRTUAL_VRAM_SIZE=6 (older: VIRTUAL_VRAM_SIZE=6), -b pipeline"),
                L(INPUT, "pages in parts: -s 0 -e 20"), L(FEWER, "one document at a time in a fresh process")}},

    /* --- faces and talking heads ---------------------------------------------------------------------------------- */
    {PROGRAM("FaceFusion, roop", "facefusion/ roop/ deep-live-cam --execution-provider execution_threads",
             "facefusion roop deep-live-cam"),
     INFER, .order = "fewer own input",
     .levers = {L(FEWER, "--execution-threads 1 (FaceFusion also --execution-queue-count 1)"),
                L(OWN, "FaceFusion: --video-memory-strategy strict; without the face enhancer; the fp16 models"),
                L(INPUT, "a video of a lower resolution, in parts"), L(HOST, "--max-memory 4; fewer threads")}},
    {PROGRAM("SadTalker, Wav2Lip and their family", "sadtalker/ wav2lip/ musetalk/ liveportrait/ video_retalking",
             "sadtalker wav2lip musetalk liveportrait"),
     INFER, .order = "input fewer own",
     .levers = {L(INPUT, "a smaller picture or video: --size 256 (SadTalker), --resize_factor 2 (Wav2Lip), 512 pixels"),
                L(FEWER, "--batch_size 1 (SadTalker), --wav2lip_batch_size 16 --face_det_batch_size 2; shorter sound"),
                L(OWN, "without --enhancer; half precision where there is a switch")}},
    {PROGRAM("IOPaint", "iopaint/ lama_cleaner/ lama-cleaner", "iopaint lama-cleaner"), INFER, .order = "own input",
     .levers = {L(OWN, "--low-mem --cpu-offload"), L(INPUT, "a smaller picture: HD strategy Resize or Crop")}},

    {PROGRAM("SentencePiece", "trainer_interface.cc spm_train sentencepiecetrainer", "sentencepiece"), INFER,
     .framework = "cpp",
     .levers = {L(HOST, "--input_sentence_size=10000000 --shuffle_input_sentence=true: a sample is enough"),
                L(HOST_MORE, "--train_extremely_large_corpus=true, a smaller --vocab_size, or more memory")}},

    /* --- recommendations, tables ---------------------------------------------------------------------------------- */
    {PROGRAM("RecBole", "recbole/ run_recbole recbole.", "recbole"), TRAIN, .order = "batch input model eval",
     .levers = {L(BATCH, "train_batch_size: {half_batch}, eval_batch_size lower too"),
                L(INPUT, "less data: user_inter_num_interval: '[10,inf)' and item_inter_num_interval alike"),
                L(MODEL, "embedding_size: 32, n_layers: 2"),
                L(EVAL, "eval_batch_size: 64; eval_args: mode: uni100 instead of full")}},
    {PROGRAM("AutoGluon", "autogluon/ autogluon.", "autogluon"), TRAIN, .framework = "python", .order = "model fewer",
     .levers = {L(MODEL, "presets='medium_quality', excluded_model_types=['KNN', 'RF', 'XT']"),
                L(FEWER, "num_bag_folds=0, num_stack_levels=0, num_cpus=4"),
                L(BATCH, "hyperparameters={'optimization.per_gpu_batch_size': 1} (multimodal)"),
                L(HOST, "presets='medium_quality', excluded_model_types=['KNN', 'RF', 'XT'], num_cpus=4"),
                L(HOST_MORE, "a sample of the rows; float32 and categories; fewer text columns")}},
    {PROGRAM("nanoGPT", "nanogpt/ --block_size= config/train_", "nanogpt"), TRAIN,
     .order = "batch length model precision",
     .levers = {L(BATCH, "--batch_size={half_batch} --gradient_accumulation_steps doubled"),
                L(LENGTH, "--block_size=256"), L(MODEL, "--n_layer=6 --n_head=6 --n_embd=384"),
                L(PRECISION, "--dtype=bfloat16 (float16)")}},
    {PROGRAM("RWKV", "rwkv/ rwkv. rwkv-lm rwkv_", "rwkv"), INFER, .order = "quantize offload model",
     .levers = {L(QUANTIZE, "strategy='cuda fp16i8'"), L(OFFLOAD, "strategy='cuda fp16 *20 -> cpu fp32'"),
                L(MODEL, "a model with fewer parameters"), L(BATCH, "--micro_bsz 1"), L(CHECKPOINT, "--grad_cp 1"),
                L(LENGTH, "--ctx_len 1024"), L(SHARD, "--strategy deepspeed_stage_3_offload")}},

    /* --- genomes -------------------------------------------------------------------------------------------------- */
    {PROGRAM("STAR", "--genomesasindexnbases --runmode genomegenerate --limitbamsortram genomegenerate staraligner",
             NULL),
     INFER, .framework = "cpp",
     .levers = {L(HOST, "--genomeSAsparseD 2 --limitGenomeGenerateRAM (index); --limitBAMsortRAM, or unsorted BAM and "
                        "samtools sort"),
                L(HOST_MORE, "fewer --runThreadN; the primary assembly without alternative contigs")}},
    {PROGRAM("SPAdes", "spades.py spades-core spades-hammer", "spades metaspades"), INFER, .framework = "cpp",
     .levers = {L(HOST, "-m 500 (GB it may use), -t 8: fewer threads hold less"),
                L(HOST_MORE, "fewer reads (normalised or sampled); --only-assembler; smaller -k")}},
    {PROGRAM("GATK and Picard", "org.broadinstitute gatk-package picard.jar picard.", "gatk picard"), INFER,
     .framework = "java",
     .levers = {L(HEAP, "gatk --java-options '-Xmx{double}' ...; java -Xmx{double} -jar picard.jar"),
                L(HOST_MORE, "intervals: -L chr1, one after another; --MAX_RECORDS_IN_RAM lower (Picard)")}},

    /* --- what runs on Java ---------------------------------------------------------------------------------------- */
    {PROGRAM("Gradle", "org.gradle gradlew gradle.properties :app: gradle/", "gradle"), INFER, .framework = "java",
     .levers = {L(HEAP, "org.gradle.jvmargs=-Xmx{double} in gradle.properties (and ./gradlew --stop)"),
                L(HOST_MORE, "org.gradle.workers.max=2; no parallel builds; kotlin.daemon.jvmargs=-Xmx2g")}},
    {PROGRAM("Maven", "org.apache.maven mvn", "maven"), INFER, .framework = "java",
     .levers = {L(HEAP, "MAVEN_OPTS=-Xmx{double}; for tests <argLine>-Xmx{double}</argLine> of Surefire"),
                L(HOST_MORE, "-T 1; fewer forks (forkCount=1)")}},
    {PROGRAM("Elasticsearch and OpenSearch", "org.elasticsearch org.opensearch", "elasticsearch opensearch"), INFER,
     .framework = "java",
     .levers = {L(HEAP, "ES_JAVA_OPTS='-Xms{double} -Xmx{double}' (at most half of the machine's memory)"),
                L(HOST_MORE, "fewer shards, smaller bulk requests; no aggregations over fields of many values")}},
    {PROGRAM("Kafka", "kafka.server org.apache.kafka", "kafka"), INFER, .framework = "java",
     .levers = {L(HEAP, "KAFKA_HEAP_OPTS='-Xms{double} -Xmx{double}'"),
                L(HOST_MORE, "smaller batches: max.poll.records, fetch.max.bytes, buffer.memory")}},
    {PROGRAM("Jenkins, Tomcat", "org.apache.catalina hudson. jenkins.", "tomcat jenkins"), INFER, .framework = "java",
     .levers = {L(HEAP, "JAVA_OPTS='-Xmx{double}' (Tomcat: CATALINA_OPTS)"),
                L(HOST_MORE, "fewer jobs or sessions at a time; old builds removed")}},
    {PROGRAM("H2O", "h2o. h2o-py h2o.jar water.", "h2o"), INFER, .framework = "java",
     .levers = {L(HEAP, "h2o.init(max_mem_size='{double}') (java -Xmx{double} -jar h2o.jar)"),
                L(HOST_MORE, "fewer columns and levels; a sample of the rows; more nodes")}},
};
const size_t plim__programs_more_count = sizeof plim__programs_more / sizeof *plim__programs_more;

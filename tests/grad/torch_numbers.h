/* Made by make_torch_numbers.py with PyTorch 2.13.0: loss, and of each gradient g the
 * square root of the sum of squares and the sum of g[k] cos(0.11 k). */
static const double lenet_loss = 2.3756907;
static const struct numbers lenet_numbers[] = {
    {"conv1.weight", 0.46444119, 0.074635809},   {"conv1.bias", 0.171828961, 0.0457462836},
    {"conv2.weight", 1.6032401, -0.00936132096}, {"conv2.bias", 0.092077637, -0.00816973849},
    {"fc1.weight", 8.37800795, 0.510019706},     {"fc1.bias", 0.426616985, -0.23076458},
    {"fc2.weight", 0.330999816, -0.14570888},    {"fc2.bias", 0.49351616, -0.0483567261},
};
static const double residual_loss = 1.64425683;
static const struct numbers residual_numbers[] = {
    {"conv1.weight", 6.25033017, -1.77820069},   {"bn1.weight", 0.0348742159, 0.0019210208},
    {"bn1.bias", 0.0323514792, -0.000167113675}, {"conv2.weight", 1.2248283, -0.597967757},
    {"bn2.weight", 0.072105309, 0.0375050675},   {"bn2.bias", 0.15060599, 0.0814686307},
    {"fc.weight", 0.495862992, -1.78425424},     {"fc.bias", 0.256000782, 0.0112750273},
};
static const double gpt_loss = 6.21685219;
static const struct numbers gpt_numbers[] = {
    {"wte.weight", 2.74045619, -1.73306669},
    {"wpe.weight", 2.87599533, 0.835229845},
    {"h.0.ln_1.weight", 0.295819541, 0.107265213},
    {"h.0.ln_1.bias", 0.4321965, 0.0480787624},
    {"h.0.attn.qkv.weight", 25.9782551, 0.663623105},
    {"h.0.attn.qkv.bias", 4.37526645, 0.593826368},
    {"h.0.attn.proj.weight", 3.2501734, 0.0795518516},
    {"h.0.attn.proj.bias", 1.61049588, 0.667617374},
    {"h.0.ln_2.weight", 0.266622789, -0.291734633},
    {"h.0.ln_2.bias", 0.161183316, 0.0242426482},
    {"h.0.mlp.fc.weight", 19.4090817, 0.531770816},
    {"h.0.mlp.fc.bias", 3.48085505, 0.10839533},
    {"h.0.mlp.proj.weight", 11.2552319, -0.0282252609},
    {"h.0.mlp.proj.bias", 0.692448809, 0.308129957},
    {"h.1.ln_1.weight", 0.0319486521, -0.0241815264},
    {"h.1.ln_1.bias", 0.135696206, -0.00063524486},
    {"h.1.attn.qkv.weight", 2.407897, -0.0354774146},
    {"h.1.attn.qkv.bias", 1.83509335, -0.22373457},
    {"h.1.attn.proj.weight", 0.337965205, -0.00257994264},
    {"h.1.attn.proj.bias", 0.516477842, 0.288525417},
    {"h.1.ln_2.weight", 0.27802645, -0.512393065},
    {"h.1.ln_2.bias", 0.229703131, -0.0151421176},
    {"h.1.mlp.fc.weight", 9.86381513, 0.0752944563},
    {"h.1.mlp.fc.bias", 1.80003318, 0.0828686034},
    {"h.1.mlp.proj.weight", 4.20817689, 0.0989918367},
    {"h.1.mlp.proj.bias", 0.340712402, 0.139949223},
    {"ln_f.weight", 0.644535167, -0.27147389},
    {"ln_f.bias", 0.612502435, 0.255109406},
};

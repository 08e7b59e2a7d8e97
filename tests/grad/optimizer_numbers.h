/* Made by make_optimizer_numbers.py with PyTorch 2.13.0: of each parameter x after 20 updates
 * the square root of the sum of squares and the sum of x[k] cos(0.11 k). */
/* clang-format off */
static const struct numbers fed_sgd[] = {
    {"vector", 2.1705757, 0.787618548},
    {"filter", 4.21053184, 0.801965105},
    {"matrix", 9.62459443, -0.509129698},
    {"number", 0.253345251, -0.253345251},
    {"large", 65.6426444, 0.257257417},
};
static const struct numbers fed_sgd_momentum[] = {
    {"vector", 2.53693626, 0.933680888},
    {"filter", 4.95101774, 0.963970588},
    {"matrix", 11.3367503, -0.0721180327},
    {"number", 0.119630396, -0.119630396},
    {"large", 77.325415, 0.195381873},
};
static const struct numbers fed_sgd_dampening[] = {
    {"vector", 2.32560608, 0.859911389},
    {"filter", 4.52655305, 0.88056835},
    {"matrix", 10.3517847, -0.356085948},
    {"number", 0.208671108, -0.208671108},
    {"large", 70.6051297, 0.239681022},
};
static const struct numbers fed_sgd_nesterov[] = {
    {"vector", 2.42799559, 0.886668872},
    {"filter", 4.73932884, 0.917457927},
    {"matrix", 10.856701, 0.0125119107},
    {"number", 0.0860654116, -0.0860654116},
    {"large", 74.051206, 0.168834586},
};
static const struct numbers fed_adam[] = {
    {"vector", 2.17809071, 0.778822972},
    {"filter", 4.22046978, 0.802151559},
    {"matrix", 9.64489513, -0.576690219},
    {"number", 0.265190721, -0.265190721},
    {"large", 65.7794318, 0.27526388},
};
static const struct numbers fed_adam_decay[] = {
    {"vector", 1.64060846, 0.563719507},
    {"filter", 3.20199855, 0.583085341},
    {"matrix", 7.36732632, 0.13415196},
    {"number", 0.0724358335, -0.0724358335},
    {"large", 50.2257662, 0.119943702},
};
static const struct numbers fed_adamw[] = {
    {"vector", 2.17765764, 0.778669035},
    {"filter", 4.21963141, 0.801994053},
    {"matrix", 9.64297929, -0.576569695},
    {"number", 0.265135407, -0.265135407},
    {"large", 65.7663657, 0.275209952},
};
static const struct numbers fed_adamw_norm[] = {
    {"vector", 2.66792131, 0.940487646},
    {"filter", 5.20343765, 1.09011538},
    {"matrix", 11.8950252, -0.249453901},
    {"number", 0.0746233314, -0.0746233314},
    {"large", 81.1320148, 0.299729478},
};
static const struct numbers fed_adamw_value[] = {
    {"vector", 2.72866321, 0.974793227},
    {"filter", 5.32818457, 1.11209897},
    {"matrix", 12.1795446, -0.260605872},
    {"number", 0.0826124698, -0.0826124698},
    {"large", 83.0740939, 0.297002827},
};
static const struct numbers fed_rmsprop[] = {
    {"vector", 2.24926718, 0.810197046},
    {"filter", 4.38451932, 0.880439884},
    {"matrix", 10.0186868, -0.391176406},
    {"number", 0.168033287, -0.168033287},
    {"large", 68.3308116, 0.257012141},
};
static const struct numbers fed_rmsprop_momentum[] = {
    {"vector", 1.67933338, 0.570791779},
    {"filter", 3.28261892, 0.608563393},
    {"matrix", 7.55070277, 0.115658185},
    {"number", 0.0756103694, -0.0756103694},
    {"large", 51.4816686, 0.107530904},
};
static const struct numbers fed_adagrad[] = {
    {"vector", 2.24812036, 0.809124924},
    {"filter", 4.38181013, 0.879775341},
    {"matrix", 10.0123557, -0.394827773},
    {"number", 0.169004202, -0.169004202},
    {"large", 68.2875061, 0.262378712},
};
static const struct numbers fed_adagrad_decay[] = {
    {"vector", 1.63569085, 0.502515866},
    {"filter", 3.17935242, 0.548764663},
    {"matrix", 7.31499256, 0.289366814},
    {"number", 0.0114593375, -0.0114593375},
    {"large", 49.8814262, 0.0789334728},
};
static const struct numbers fed_adafactor[] = {
    {"vector", 2.17655309, 0.796832192},
    {"filter", 4.38945306, 1.12831707},
    {"matrix", 10.0651211, -0.406510227},
    {"number", 0.233741984, -0.233741984},
    {"large", 68.6505967, 0.244788307},
};
static const struct numbers fed_adafactor_fast[] = {
    {"vector", 568.427308, 14.7021916},
    {"filter", 1310.36916, 354.163316},
    {"matrix", 3030.00924, 420.852607},
    {"number", 4.85227203, 4.85227203},
    {"large", 20668.7985, -79.0431613},
};
static const struct numbers fed_adafactor_decay[] = {
    {"vector", 2.88935606, 0.93085549},
    {"filter", 6.58910941, 2.63293608},
    {"matrix", 15.2320349, 0.742927421},
    {"number", 0.0789037719, -0.0789037719},
    {"large", 103.910055, 0.0571401177},
};
static const struct numbers fed_lion[] = {
    {"vector", 2.13864101, 0.759009907},
    {"filter", 4.13762228, 0.770137575},
    {"matrix", 9.45669357, -0.609434567},
    {"number", 0.283780932, -0.283780932},
    {"large", 64.4957032, 0.271836548},
};
static const struct numbers fed_lion_decay[] = {
    {"vector", 2.22752017, 0.811625582},
    {"filter", 4.32677109, 0.848327017},
    {"matrix", 9.88534075, -0.50104192},
    {"number", 0.21817565, -0.21817565},
    {"large", 67.4196875, 0.271869877},
};
static const struct numbers fed_sgd_both[] = {
    {"vector", 2.17859991, 0.782863694},
    {"filter", 4.22061113, 0.795639957},
    {"matrix", 9.64692181, -0.565388459},
    {"number", 0.27199015, -0.27199015},
    {"large", 65.7938916, 0.267942176},
};
static const struct numbers fed_constant[] = {
    {"vector", 2.16010163, 0.783166851},
    {"filter", 4.18972398, 0.797294884},
    {"matrix", 9.57695029, -0.511744256},
    {"number", 0.253780842, -0.253780842},
    {"large", 65.3176051, 0.256933064},
};
static const struct numbers fed_step[] = {
    {"vector", 2.17011446, 0.77807122},
    {"filter", 4.20299698, 0.790462778},
    {"matrix", 9.60655908, -0.574215587},
    {"number", 0.274503171, -0.274503171},
    {"large", 65.5183871, 0.268837658},
};
static const struct numbers fed_cosine[] = {
    {"vector", 2.49747253, 0.882042001},
    {"filter", 4.86117366, 0.974011545},
    {"matrix", 11.1049104, -0.41060526},
    {"number", 0.168127015, -0.168127015},
    {"large", 75.7433177, 0.296533602},
};
static const struct numbers fed_linear[] = {
    {"vector", 2.52785488, 0.898145685},
    {"filter", 4.9232251, 1.02114403},
    {"matrix", 11.248059, -0.435592496},
    {"number", 0.160975918, -0.160975918},
    {"large", 76.7146614, 0.328147769},
};
static const struct numbers network_sgd[] = {
    {"conv1.weight", 2.45152853, 0.158149523},
    {"conv1.bias", 0.45589695, -0.706330376},
    {"conv2.weight", 3.48965791, 0.270359799},
    {"up.weight", 2.55569596, -0.571211702},
    {"group.weight", 1.01033593, -0.0713332857},
    {"fc.weight", 2.47884122, 0.596353305},
    {"fc.bias", 0.807793598, -0.0579341225},
};
static const struct numbers network_sgd_momentum[] = {
    {"conv1.weight", 2.30553594, 0.14874177},
    {"conv1.bias", 0.429553139, -0.666151068},
    {"conv2.weight", 3.28197388, 0.274786196},
    {"up.weight", 2.40367283, -0.536572257},
    {"group.weight", 0.950676592, -0.0746993763},
    {"fc.weight", 2.33145182, 0.561927739},
    {"fc.bias", 2.2558598, 1.04863656},
};
static const struct numbers network_sgd_dampening[] = {
    {"conv1.weight", 2.45151807, 0.158151015},
    {"conv1.bias", 0.456201727, -0.70705025},
    {"conv2.weight", 3.48969385, 0.278158411},
    {"up.weight", 2.55575073, -0.570965675},
    {"group.weight", 1.0105045, -0.0745607491},
    {"fc.weight", 2.47890917, 0.596763426},
    {"fc.bias", 1.2005077, 0.374897332},
};
static const struct numbers network_sgd_nesterov[] = {
    {"conv1.weight", 2.14723705, 0.138516955},
    {"conv1.bias", 0.400124061, -0.620549812},
    {"conv2.weight", 3.05664424, 0.257030095},
    {"up.weight", 2.2386472, -0.499705397},
    {"group.weight", 0.885427984, -0.069855016},
    {"fc.weight", 2.17138205, 0.52333356},
    {"fc.bias", 2.30404119, 1.09046067},
};
static const struct numbers network_adam[] = {
    {"conv1.weight", 2.44469648, 0.166596119},
    {"conv1.bias", 0.496408095, -0.775207512},
    {"conv2.weight", 3.49971448, 1.75966585},
    {"up.weight", 2.57625294, -0.560334291},
    {"group.weight", 1.01342523, -0.0890311682},
    {"fc.weight", 2.48147585, 0.60640027},
    {"fc.bias", 0.856449678, -0.361236056},
};
static const struct numbers network_adam_decay[] = {
    {"conv1.weight", 0.759476978, 0.0641047947},
    {"conv1.bias", 0.137332066, -0.199222809},
    {"conv2.weight", 1.08184352, 0.0705570689},
    {"up.weight", 0.794125297, -0.217817836},
    {"group.weight", 0.306910804, 0.00803469711},
    {"fc.weight", 0.7703434, 0.16333931},
    {"fc.bias", 0.948383032, -0.782007942},
};
static const struct numbers network_adamw[] = {
    {"conv1.weight", 2.44420686, 0.16656262},
    {"conv1.bias", 0.496313581, -0.775060029},
    {"conv2.weight", 3.49901638, 1.75947657},
    {"up.weight", 2.57574156, -0.560226188},
    {"group.weight", 1.01322289, -0.0890144269},
    {"fc.weight", 2.48098049, 0.606275375},
    {"fc.bias", 0.856276992, -0.36117027},
};
static const struct numbers network_adamw_norm[] = {
    {"conv1.weight", 2.36597515, 0.084251988},
    {"conv1.bias", 0.833360028, -1.26517427},
    {"conv2.weight", 4.40899226, 12.1097703},
    {"up.weight", 3.38328076, -1.36129155},
    {"group.weight", 1.42637735, -0.465568742},
    {"fc.weight", 3.27081734, 0.884325954},
    {"fc.bias", 0.998790188, -0.878235177},
};
static const struct numbers network_adamw_value[] = {
    {"conv1.weight", 2.40902295, 0.0865524296},
    {"conv1.bias", 0.856429746, -1.29858743},
    {"conv2.weight", 4.49162516, 12.3556325},
    {"up.weight", 3.43763158, -1.36517157},
    {"group.weight", 1.44665248, -0.46767671},
    {"fc.weight", 3.3186098, 0.904232548},
    {"fc.bias", 1.03217263, -0.916217578},
};
static const struct numbers network_rmsprop[] = {
    {"conv1.weight", 2.41905006, 0.0914104217},
    {"conv1.bias", 0.711673936, -1.09336528},
    {"conv2.weight", 3.88734895, 7.36087472},
    {"up.weight", 3.0292631, -1.27694697},
    {"group.weight", 1.25816394, -0.312393128},
    {"fc.weight", 2.8441854, 0.598501652},
    {"fc.bias", 0.848691326, -0.532449222},
};
static const struct numbers network_rmsprop_momentum[] = {
    {"conv1.weight", 0.852621539, 0.0212164055},
    {"conv1.bias", 0.155138052, -0.218086509},
    {"conv2.weight", 1.21400023, 0.110731641},
    {"up.weight", 0.890863336, -0.144194016},
    {"group.weight", 0.344522944, -0.0273928178},
    {"fc.weight", 0.864437583, 0.103938246},
    {"fc.bias", 0.938654497, -0.772421485},
};
static const struct numbers network_adagrad[] = {
    {"conv1.weight", 2.41791911, 0.0926357343},
    {"conv1.bias", 0.71007932, -1.09119293},
    {"conv2.weight", 3.88242875, 7.28593156},
    {"up.weight", 3.02439471, -1.27352906},
    {"group.weight", 1.25533353, -0.309049372},
    {"fc.weight", 2.8399238, 0.596457652},
    {"fc.bias", 0.848184737, -0.528462989},
};
static const struct numbers network_adagrad_decay[] = {
    {"conv1.weight", 0.64156722, 0.0425214764},
    {"conv1.bias", 0.115328081, -0.171803963},
    {"conv2.weight", 0.914192969, 0.0696784869},
    {"up.weight", 0.670905155, -0.156725913},
    {"group.weight", 0.257085016, -0.00127845949},
    {"fc.weight", 0.650775615, 0.139626492},
    {"fc.bias", 0.976502776, -0.774240004},
};
static const struct numbers network_adafactor[] = {
    {"conv1.weight", 2.43339695, 0.156919778},
    {"conv1.bias", 0.547170712, -0.840405351},
    {"conv2.weight", 3.52287263, 1.99172489},
    {"up.weight", 2.60604063, -0.795871642},
    {"group.weight", 1.03555551, -0.0868932797},
    {"fc.weight", 2.52381559, 0.589950919},
    {"fc.bias", 0.845965134, -0.427709195},
};
static const struct numbers network_adafactor_decay[] = {
    {"conv1.weight", 2.20093725, 0.216495671},
    {"conv1.bias", 0.962420644, -1.42727557},
    {"conv2.weight", 4.16209161, 12.1423266},
    {"up.weight", 3.6533963, -0.679312433},
    {"group.weight", 1.89224331, -0.370931487},
    {"fc.weight", 3.76293296, 1.50239284},
    {"fc.bias", 0.877132117, -0.733429178},
};
static const struct numbers network_lion[] = {
    {"conv1.weight", 2.45094805, 0.156660619},
    {"conv1.bias", 0.458877218, -0.71562801},
    {"conv2.weight", 3.48988032, 0.425197354},
    {"up.weight", 2.55732412, -0.567999721},
    {"group.weight", 1.01021644, -0.0720308767},
    {"fc.weight", 2.47901222, 0.602568353},
    {"fc.bias", 0.872096314, -0.305635265},
};
static const struct numbers network_lion_decay[] = {
    {"conv1.weight", 2.35312479, 0.194155006},
    {"conv1.bias", 0.565137767, -0.868499253},
    {"conv2.weight", 3.50170348, 4.29129854},
    {"up.weight", 2.64121131, -0.871047371},
    {"group.weight", 1.04301412, -0.160085674},
    {"fc.weight", 2.482098, 0.51810948},
    {"fc.bias", 0.819401804, -0.473411013},
};
static const struct numbers network_sgd_both[] = {
    {"conv1.weight", 2.45148144, 0.158191037},
    {"conv1.bias", 0.457446202, -0.7098347},
    {"conv2.weight", 3.4898488, 0.31087373},
    {"up.weight", 2.555986, -0.570139901},
    {"group.weight", 1.01132664, -0.0852356925},
    {"fc.weight", 2.47925405, 0.598344511},
    {"fc.bias", 0.886481934, -0.67322984},
};
static const struct numbers network_constant[] = {
    {"conv1.weight", 2.45152878, 0.15815343},
    {"conv1.bias", 0.455881614, -0.706297496},
    {"conv2.weight", 3.48965592, 0.269941378},
    {"up.weight", 2.55569297, -0.571219396},
    {"group.weight", 1.01032747, -0.0714053183},
    {"fc.weight", 2.47883795, 0.59637278},
    {"fc.bias", 0.803772435, -0.0814310806},
};
static const struct numbers network_step[] = {
    {"conv1.weight", 2.45152969, 0.158142492},
    {"conv1.bias", 0.455830454, -0.706166881},
    {"conv2.weight", 3.48964922, 0.268594259},
    {"up.weight", 2.55568235, -0.571289284},
    {"group.weight", 1.01029646, -0.0700960204},
    {"fc.weight", 2.47882591, 0.596100401},
    {"fc.bias", 0.808966958, -0.167857347},
};
static const struct numbers network_cosine[] = {
    {"conv1.weight", 2.41645558, 0.142476147},
    {"conv1.bias", 0.671160649, -1.03114531},
    {"conv2.weight", 3.85061095, 7.94344338},
    {"up.weight", 2.89311333, -1.14691583},
    {"group.weight", 1.14395154, -0.18180922},
    {"fc.weight", 2.7189377, 0.537120544},
    {"fc.bias", 0.880037475, -0.658817592},
};
static const struct numbers network_linear[] = {
    {"conv1.weight", 2.42084384, 0.0710097357},
    {"conv1.bias", 0.694882845, -1.0751264},
    {"conv2.weight", 3.90355469, 7.74915544},
    {"up.weight", 2.91912334, -1.10098141},
    {"group.weight", 1.20264757, -0.250389989},
    {"fc.weight", 2.81588178, 0.753135052},
    {"fc.bias", 0.889632376, -0.680295421},
};

/* One function a model of the zoo. */
#ifndef PLIM_ZOO_MODELS_H
#define PLIM_ZOO_MODELS_H

#include "zoo/layers.h"

void plim__zoo_mlp(plim__maker *m);
void plim__zoo_lenet(plim__maker *m);
void plim__zoo_resnet18(plim__maker *m);
void plim__zoo_resnet34(plim__maker *m);
void plim__zoo_resnet50(plim__maker *m);
void plim__zoo_mobilenet_v2(plim__maker *m);
void plim__zoo_unet(plim__maker *m);
void plim__zoo_gpt2(plim__maker *m);
void plim__zoo_gpt2_tiny(plim__maker *m);
void plim__zoo_vit_tiny(plim__maker *m);
void plim__zoo_vit_b16(plim__maker *m);
void plim__zoo_lstm(plim__maker *m);
void plim__zoo_gru(plim__maker *m);
void plim__zoo_tabular(plim__maker *m);
void plim__zoo_llama(plim__maker *m);
void plim__zoo_bert(plim__maker *m);

#endif

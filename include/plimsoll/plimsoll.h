/* Plimsoll: trains neural networks inside a memory budget. Include this one. */
#ifndef PLIMSOLL_PLIMSOLL_H
#define PLIMSOLL_PLIMSOLL_H

#include "plimsoll/bytes.h"
#include "plimsoll/data.h"
#include "plimsoll/diagnose.h"
#include "plimsoll/dtype.h"
#include "plimsoll/evaluate.h"
#include "plimsoll/fit.h"
#include "plimsoll/gradient.h"
#include "plimsoll/graph.h"
#include "plimsoll/loss.h"
#include "plimsoll/onnx.h"
#include "plimsoll/pack.h"
#include "plimsoll/plan.h"
#include "plimsoll/session.h"
#include "plimsoll/size.h"
#include "plimsoll/status.h"
#include "plimsoll/train.h"
#include "plimsoll/version.h"
#include "plimsoll/zoo.h"

#endif

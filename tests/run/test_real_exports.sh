# Models as PyTorch exports them agree with PyTorch within 1e-4 of the largest logit.
/usr/bin/python3 -c 'import numpy, torch, torchvision' 2>/dev/null || { echo "skipped: no python3-torch, python3-torchvision"; exit 77; }
exec /usr/bin/python3 "$2/tests/run/real_exports.py" "$1" resnet18 mobilenet_v2 squeezenet1_1

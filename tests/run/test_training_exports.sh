# What PyTorch exports in training mode trains: batch norm and dropout of every opset give the same losses, and real
# networks of torchvision build their backward pass.
/usr/bin/python3 -c 'import numpy, torch, torchvision' 2>/dev/null || { echo "skipped: no python3-torch, python3-torchvision"; exit 77; }
exec /usr/bin/python3 "$2/tests/run/training_exports.py" "$1" shufflenet_v2_x0_5 squeezenet1_1

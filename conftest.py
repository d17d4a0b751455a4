"""What all tests and notebooks run with: a quiet TensorFlow, no GPU, no progress bars in outputs that are compared."""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TQDM_DISABLE", "1")

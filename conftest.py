"""What tests and notebooks run with: a quiet TensorFlow, no GPU, no progress bars in what is compared, one width."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest
from nbval.plugin import IPyNbCell

from graphsurgeon.tf.save import worker
from tests import kernels
from tests.pictures import compared

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TQDM_DISABLE", "1")
os.environ["COLUMNS"] = "80"  # the width of help texts, whatever the terminal has
os.environ.setdefault("GRAPHSURGEON_JOURNALS", "off")  # nothing is written into anybody's home
worker.PROGRAM += ("keep",)  # one process for all files, because tests write many small ones


def pytest_itemcollected(item: Any) -> None:
    """Lets nbval compare pictures by what they show; by their bytes too where TensorFlow is the one that drew them."""
    if isinstance(item, IPyNbCell):
        stored, plain = item.parent.nb.metadata.get("tensorflow"), item.sanitize
        exact = stored in (None, version("tensorflow").rpartition(".")[0])
        item.sanitize = lambda text: compared(plain(text), exact)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_setup(item: Any) -> Iterator[None]:
    """Lets the kernels of notebooks be children of one process that has imported TensorFlow."""
    with pytest.MonkeyPatch.context() as patch:
        if isinstance(item, IPyNbCell) and sys.platform == "linux":  # elsewhere, such a child may not live
            patch.setenv("JUPYTER_PATH", kernels.started())
        return (yield)

"""Risky ops: which op types reach out of the graph as they run, each with the reason, and where the path stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .stablehlo import library_calls

#: The kinds of risks, the worst first.
KINDS = ("writes files", "opens the network", "calls Python", "runs other code", "ends the process", "reads files")
WRITES, NETWORK, PYTHON, CODE, ENDS, READS = KINDS


class RiskyOp(NamedTuple):
    """The effect of an op type outside of the graph.

    Args:
        kind: one of `KINDS`.
        reason: what it does.
        path: the place of the path, address or token: the number of an input, or the name of an attribute; None if
            there is none.
        harmless: the paths for which it does nothing; one that ends in ``://`` covers all paths that begin with it.
        only: it does something only if the path begins with this.
        calls: if the attribute `path` is a program, the function that lists the library functions it calls; None if
            the program cannot be read.
    """

    kind: str
    reason: str
    path: int | str | None = None
    harmless: tuple[str, ...] = ()
    only: str = ""
    calls: Callable[[bytes], tuple[str, ...] | None] | None = None

    def does_nothing(self, path: str) -> bool:
        """Returns whether the op does nothing with a path.

        Example:
            >>> RISKY["EncodeProto"].does_nothing("bytes://..."), RISKY["EncodeProto"].does_nothing("/etc/passwd")
            (True, False)
        """
        return path in self.harmless or path.startswith(tuple(one for one in self.harmless if one.endswith("://")))


def _of(kind: str, reason: str, path: int | str | None, *types: str, **more: object) -> dict[str, RiskyOp]:
    return {name: RiskyOp(kind, reason, path, **more) for name in types}  # type: ignore[arg-type]


#: Op type -> its effect. A test compares this with TensorFlow's own list of op types.
RISKY: dict[str, RiskyOp] = {
    # files
    **_of(WRITES, "writes its text to a file", 0, "WriteFile"),
    **_of(WRITES, "writes tensors to a checkpoint", 0, "Save", "SaveSlices", "SaveV2"),
    **_of(WRITES, "moves the files of checkpoints, and deletes their folders", 1, "MergeV2Checkpoints"),
    **_of(WRITES, "appends its text to a file", "output_stream", "PrintV2", only="file://"),
    **_of(WRITES, "writes the elements of a dataset", 1, "SaveDataset", "SaveDatasetV2"),
    **_of(
        WRITES, "writes the elements of a dataset to records", 1, "DatasetToTFRecord",
        "ExperimentalDatasetToTFRecord",
    ),
    **_of(WRITES, "keeps the elements of a dataset in files", 1, "CacheDataset", "CacheDatasetV2", harmless=("",)),
    **_of(WRITES, "keeps the elements of a dataset in files", 1, "SnapshotDataset", "SnapshotDatasetV2"),
    **_of(WRITES, "opens a log of events", 1, "CreateSummaryFileWriter"),
    **_of(WRITES, "opens a database for events", 1, "CreateSummaryDbWriter"),
    **_of(WRITES, "writes a tensor to a file", "log_dir_path", "DumpTensor"),
    **_of(WRITES, "writes the engines of TensorRT to a file", 1, "SerializeTRTResource"),
    **_of(WRITES, "writes statistics to a file", "output_file_path", "CalibrationStatisticsSaver"),
    **_of(
        WRITES, "sends a tensor to each of its URLs, which are files or hosts", "debug_urls",
        "DebugIdentity", "DebugIdentityV2", "DebugIdentityV3", "DebugNanCount", "DebugNumericSummary", harmless=("",),
    ),
    **_of(READS, "reads a whole file", 0, "ReadFile"),
    **_of(
        READS, "lists the files that a pattern fits", 0, "MatchingFiles", "MatchingFilesDataset",
        "ExperimentalMatchingFilesDataset",
    ),
    **_of(
        READS, "reads the files that a queue names", None, "FixedLengthRecordReader", "FixedLengthRecordReaderV2",
        "LMDBReader", "TFRecordReader", "TFRecordReaderV2", "TextLineReader", "TextLineReaderV2", "WholeFileReader",
        "WholeFileReaderV2",
    ),
    **_of(
        READS, "reads the lines or records of files", 0, "CSVDataset", "CSVDatasetV2", "ExperimentalCSVDataset",
        "ExperimentalLMDBDataset", "FixedLengthRecordDataset", "FixedLengthRecordDatasetV2", "LMDBDataset",
        "TFRecordDataset", "TFRecordDatasetV2", "TextLineDataset",
    ),
    **_of(READS, "reads records of files", "file_pattern", "RecordInput"),
    **_of(
        READS, "opens a database and runs its SQL there, which may write", 1, "ExperimentalSqlDataset", "SqlDataset",
    ),
    **_of(
        READS, "reads a dataset that was saved", 0, "ListSnapshotChunksDataset", "LoadDataset",
        "SnapshotChunkDataset", "SnapshotDatasetReader",
    ),
    **_of(
        READS, "reads tensors of a checkpoint", 0, "DTensorRestoreV2", "LoadAndRemapMatrix", "Restore",
        "RestoreSlice", "RestoreV2",
    ),
    **_of(READS, "reads a vocabulary", 0, "GenerateVocabRemapping"),
    **_of(READS, "fills a table from a file", 1, "InitializeTableFromTextFile", "InitializeTableFromTextFileV2"),
    **_of(READS, "reads a vocabulary", "vocab_file", "FixedUnigramCandidateSampler", harmless=("",)),
    **_of(READS, "reads a corpus", "filename", "Skipgram"),
    **_of(READS, "reads the engines of TensorRT from a file", 1, "InitializeTRTResource"),
    **_of(
        READS, "reads the description of messages from a file", "descriptor_source", "DecodeProtoV2", "EncodeProto",
        harmless=("", "bytes://", "local://"),
    ),
    # network
    **_of(
        NETWORK, "asks a host for the elements of a dataset", 2, "DataServiceDataset", "DataServiceDatasetV2",
        "DataServiceDatasetV3", "DataServiceDatasetV4",
    ),
    **_of(NETWORK, "gives a dataset to a host", 1, "RegisterDataset", "RegisterDatasetV2"),
    **_of(NETWORK, "makes a host write a dataset", 2, "DistributedSave"),
    **_of(NETWORK, "opens a port that others can call", 0, "RpcServer"),
    **_of(NETWORK, "calls functions of another host", 0, "RpcClient"),
    **_of(NETWORK, "sets how a file system is reached, as one in a cloud", 0, "FileSystemSetConfiguration"),
    # code
    **_of(
        PYTHON, "calls a Python function of this process by its number", "token", "EagerPyFunc", "PyFunc",
        "PyFuncStateless",
    ),
    **_of(CODE, "calls a function of a library by its name", "target_name", "XlaCustomCall"),
    **_of(CODE, "calls a function of a library by its name", "call_target_name", "XlaCustomCallV2"),
    **_of(
        CODE, "calls functions of a library by their names in its module", "module", "XlaCallModule", harmless=("",),
        calls=library_calls,
    ),
    **_of(
        CODE, "runs a program in an attribute, which cannot be read", None, "MlirPassthroughOp", "_TPUCompileMlir",
        "_XlaHostComputeMlir",
    ),
    **_of(CODE, "runs a graph that is hidden in a string", None, "DatasetFromGraph"),
    **_of(CODE, "runs compiled code of TensorRT that is written in a string", None, "TRTEngineOp"),
    **_of(ENDS, "ends the process", None, "Abort"),
    **_of(ENDS, "can tell a worker to end", None, "WorkerHeartbeat"),
}  # fmt: skip

#: Ops of savers. The caller gives the file name; without one, it is the name here, which TensorFlow itself writes.
SAVERS = frozenset({"MergeV2Checkpoints", "Restore", "RestoreSlice", "RestoreV2", "Save", "SaveSlices", "SaveV2"})
SAVERS_OWN = ("model",)

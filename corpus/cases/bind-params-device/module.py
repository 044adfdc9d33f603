# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice({"keys": ["cpu"], "kind": "llvm", "mtriple": "x86_64-conda-linux-gnu", "tag": ""}, 0, "global")]})
    @R.function
    def main(p4: R.Tensor((3,), dtype="float32", vdevice="llvm:0:global"), w0: R.Tensor((1, 3), dtype="float32", vdevice="llvm:0:global")) -> R.Tuple(R.Tensor((1, 3), dtype="float32", vdevice="llvm:0:global"), R.Tensor((3,), dtype="float32", vdevice="llvm:0:global"), R.Tensor((3,), dtype="float32", vdevice="llvm:0:global")):
        with R.dataflow():
            lv10: R.Tuple(R.Tensor((1, 3), dtype="float32", vdevice="llvm:0:global"), R.Tensor((3,), dtype="float32", vdevice="llvm:0:global"), R.Tensor((3,), dtype="float32", vdevice="llvm:0:global")) = R.nn.batch_norm(w0, p4, p4, p4, p4, axis=1, epsilon=0.01, center=False, scale=False, momentum=0.10000000000000001, training=False)
            R.output(lv10)
        return lv10

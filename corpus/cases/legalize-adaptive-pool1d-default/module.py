# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2, 2), dtype="float32")) -> R.Tensor((2, 2, 2), dtype="float32"):
        # from tvm.script import relax as R
        
        @R.function
        def lv2(x1: R.Tensor((2, 2, 2), dtype="float32")) -> R.Tensor((2, 2, 2), dtype="float32"):
            # from tvm.script import relax as R
            
            @R.function
            def lv1(x2: R.Tensor((2, 2, 2), dtype="float32")) -> R.Tensor((2, 2, 2), dtype="float32"):
                with R.dataflow():
                    lv: R.Tensor((2, 2, 2), dtype="float32") = R.nn.adaptive_avg_pool1d(x, output_size=None, layout="NCW", out_layout="NCW")
                    R.output()
                return x2

            return x1

        return x

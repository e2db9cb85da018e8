"""`qd.init`: each option by keyword and by environment, bad values, choice of the arch, what is printed."""

import os
import subprocess
import sys

import pytest

import quadrants as qd
from quadrants.lang import config

FLAGS = [option.name for option in config.OPTIONS if option.kind is config.FLAG]


@pytest.fixture
def name(arch, monkeypatch, tmp_path):
    """The name of the arch under test, in a runtime; further ones cache in the test's own folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return arch


def test_every_row_of_the_table_is_documented():
    assert len({option.name for option in config.OPTIONS}) == len(config.OPTIONS)
    for option in config.OPTIONS:
        assert option.doc and option.reach.partition(":")[0] in ("code", "core", "front", "host", "none"), option.name


def test_code_options_are_rows_of_the_plugin_table():
    path = os.path.join(os.path.dirname(__file__), "../../plugins-api/include/qd/options.def")
    text = open(path).read()
    for option in config.OPTIONS:
        if option.reach.startswith("code:"):
            assert f"OPTION({option.reach[5:]}," in text


@pytest.mark.parametrize("option", FLAGS)
def test_flags_by_keyword_and_by_environment(option, monkeypatch):
    start = config.ROWS[option].start()
    assert config.resolve({}, print)[option] is start
    assert config.resolve({option: not start}, print)[option] is (not start)
    monkeypatch.setenv("QD_" + option.upper(), str(int(not start)))
    assert config.resolve({}, print)[option] is (not start)
    monkeypatch.setenv("QD_" + option.upper(), "")
    assert config.resolve({}, print)[option] is start
    monkeypatch.setenv("QD_" + option.upper(), "maybe")
    with pytest.raises(ValueError, match=f"QD_{option.upper()}='maybe': accepted are"):
        config.resolve({}, print)


def test_flags_of_the_environment_are_integers(monkeypatch):
    monkeypatch.setenv("QD_DEBUG", "2")
    assert config.resolve({}, print)["debug"] is True


@pytest.mark.parametrize("option, text", [("default_fp", "16"), ("default_ip", "x")])
def test_widths_of_the_environment(option, text, monkeypatch):
    variable = "QD_" + option.upper()
    monkeypatch.setenv(variable, text)
    with pytest.raises(ValueError, match=f"Invalid {variable}={text}, should be 32 or 64"):
        config.resolve({}, print)


OF_THE_SPECIFICATION = """arch opt_level advanced_optimization cfg_optimization debug check_out_of_bound
raise_on_templated_floats fast_math flatten_if move_loop_invariant_outside_if cache_loop_invariant_global_vars
demote_dense_struct_fors make_thread_local make_block_local detect_read_only real_matrix_scalarize force_scalarize_matrix
half2_vectorization make_cpu_multithreading_loop default_fp default_ip default_cpu_block_dim default_gpu_block_dim gpu_max_reg
saturating_grid_dim max_block_dim cpu_max_num_threads random_seed ad_stack_experimental_enabled ad_stack_size
ad_stack_sparse_threshold_bytes print_ir print_preprocessed_ir print_ir_dbg_info print_accessor_ir print_struct_llvm_ir
print_kernel_llvm_ir print_kernel_llvm_ir_optimized print_kernel_asm print_kernel_amdgcn debug_dump_path kernel_profiler
timeline verbose verbose_kernel_launches use_llvm simplify_before_lower_access simplify_after_lower_access lower_access
device_memory_GB device_memory_fraction cuda_stack_limit vk_api_version quant_opt_store_fusion quant_opt_atomic_demotion
make_mesh_block_local optimize_mesh_reordered_mapping mesh_localize_to_end_mapping mesh_localize_from_end_mapping
mesh_localize_all_attr_mappings experimental_auto_mesh_local demote_no_access_mesh_fors auto_mesh_local_default_occupacy
offline_cache offline_cache_file_path offline_cache_cleaning_policy offline_cache_max_size_of_files
offline_cache_cleaning_factor num_compile_threads external_metal_command_queue external_metal_command_queue_is_torch_queue
cpu_block_dim_adaptive src_ll_cache print_non_pure log_level gdb_trigger short_circuit_operators print_full_traceback
unrolling_limit""".split()


def test_every_option_is_there_and_live(name):
    """By keyword at its default, readable and writable in `qd.cfg`, in the dump; `arch` and `default_up` are read only."""
    rows = [option for option in OF_THE_SPECIFICATION if option != "arch"]
    assert set(rows) <= set(config.ROWS)
    qd.init(
        arch=name, **{option: config.ROWS[option].start() for option in rows if not option.startswith("offline_cache")}
    )
    for option in rows:
        setattr(qd.cfg, option, getattr(qd.cfg, option))
    assert {"arch", "default_up", *rows} <= set(dir(qd.cfg))
    with pytest.raises(AttributeError):
        qd.cfg.arch = qd.cpu


@pytest.mark.parametrize("required", ["1.3", "1.3.3", "1.0", "1.3.1", "0.1", qd.__version_str__])
def test_versions_that_are_met(required):
    qd.lang.misc.check_require_version(required)


@pytest.mark.parametrize("required", ["1.4", "1.3.4", "2.0", "0.9", "1", "1.x", "1.3.3.1", ""])
def test_versions_that_are_not_met(required):
    with pytest.raises(Exception, match="Required version >= |expected major.minor"):
        qd.lang.misc.check_require_version(required)


def test_extensions(name):
    qd.init(arch=name)
    enabled = {ext.name for ext in qd.extension if qd.is_extension_enabled(ext)}
    assert enabled == {"data64", "assertion"}
    qd.reset()
    with pytest.raises(qd.QuadrantsRuntimeError, match="qd.init"):
        qd.is_extension_enabled(qd.extension.sparse)


def test_keyword_wins_with_a_warning(monkeypatch):
    said = []
    monkeypatch.setenv("QD_DEBUG", "1")
    assert config.resolve({"debug": False}, said.append)["debug"] is False
    assert said == ['Environment variable QD_DEBUG=1 overridden by qd.init argument "debug"']


@pytest.mark.parametrize(
    "option, text, value",
    [
        ("default_fp", "64", qd.f64),
        ("default_ip", "64", qd.i64),
        ("per_offload_cache", "auto", "auto"),
        ("per_offload_cache", "0", False),
        ("offline_cache_max_size_of_files", "5000000000", 5000000000),
        ("offline_cache_cleaning_factor", "0.5", 0.5),
        ("offline_cache_cleaning_policy", "fifo", "fifo"),
        ("num_compile_threads", "3", 3),
    ],
)
def test_values_of_the_environment(option, text, value, monkeypatch):
    monkeypatch.setenv("QD_" + option.upper(), text)
    assert config.resolve({}, print)[option] == value


@pytest.mark.parametrize(
    "keywords, error, text",
    [
        ({"foo": 1}, KeyError, "Unrecognized keyword argument.s. for qd.init: foo"),
        ({"offline_cach": 1}, KeyError, "did you mean offline_cache"),
        ({"default_up": qd.u32}, KeyError, "set 'default_ip' instead"),
        ({"debug": "x"}, TypeError, "debug='x': accepted are True False"),
        ({"debug": 2}, ValueError, "debug=2: accepted are True False"),
        ({"opt_level": 1.5}, TypeError, "opt_level=1.5: accepted are integers from 0"),
        ({"num_compile_threads": -1}, ValueError, "num_compile_threads=-1: accepted are integers from 0"),
        ({"default_fp": qd.i32}, ValueError, "default_fp=i32: accepted are f32 f64"),
        ({"default_ip": float}, TypeError, "default_ip=.*: accepted are i32 i64"),
        ({"offline_cache_cleaning_policy": "oldest"}, ValueError, "accepted are 'never' 'version' 'lru' 'fifo'"),
        ({"offline_cache_cleaning_factor": 1.5}, ValueError, "accepted are numbers from 0 to 1"),
        ({"offline_cache_cleaning_factor": float("nan")}, ValueError, "accepted are numbers from 0 to 1"),
        ({"per_offload_cache": "sometimes"}, ValueError, "accepted are 'auto' True False"),
        ({"log_level": "loud"}, ValueError, "log_level='loud': accepted are trace debug"),
        ({"arch": 3}, TypeError, "arch=3: expected an arch"),
        ({"require_version": "9.0"}, Exception, "Required version >= 9.0.0"),
        ({"require_version": "new"}, Exception, "expected major.minor"),
    ],
)
def test_bad_values(keywords, error, text):
    with pytest.raises(error, match=text):
        qd.init(**keywords)


def test_a_refused_init_leaves_the_runtime_alone(name):
    field = qd.field(qd.i32, 3)
    with pytest.raises(TypeError):
        qd.init(debug="x")
    field[1] = 7
    assert field[1] == 7


def test_start_up_output(name, capfd):
    qd.init(arch=name)
    assert f"[Quadrants] Starting on arch={qd.cfg.arch.name}" in capfd.readouterr().out


def test_arch_by_list_and_fallback(name, capfd):
    qd.init(arch=["no_such_backend", name])
    assert qd.cfg.arch.name == qd._lib.core.arch_from_name(name).name
    with pytest.raises(RuntimeError, match="no_such_backend.* is not supported"):
        qd.init(arch="no_such_backend", enable_fallback=False)


def test_arch_by_environment(name, monkeypatch):
    monkeypatch.setenv("QD_ARCH", name)
    qd.init(arch=qd.cuda, enable_fallback=False)
    assert qd.cfg.arch.name == qd._lib.core.arch_from_name(name).name


def test_cfg_is_live(name):
    qd.init(arch=name, debug=True, default_ip=qd.i64)
    assert qd.cfg.debug is True and qd.cfg.default_up is qd.u64
    qd.cfg.debug = False
    assert qd.lang.impl.get_runtime().options["debug"] is False
    with pytest.raises(TypeError, match="debug='x'"):
        qd.cfg.debug = "x"
    with pytest.raises(AttributeError, match="no_such_option"):
        qd.cfg.no_such_option  # noqa: B018
    qd.reset()
    assert qd.cfg is None


def test_dump_compile_config(name, capsys):
    qd.init(arch=name, opt_level=2, default_fp=qd.f64)
    capsys.readouterr()
    qd.dump_compile_config()
    lines = capsys.readouterr().out.splitlines()
    assert "opt_level=2" in lines and "default_fp=f64" in lines and lines == sorted(lines)


def test_default_types(name):
    qd.init(arch=name, default_fp=qd.f64, default_ip=qd.i64)
    assert qd.field(float, 2).dtype is qd.f64 and qd.field(int, 2).dtype is qd.i64
    assert qd.field(bool, 2).dtype is qd.u1


def test_test_mode_starts_nothing():
    special = qd.init(_test_mode=True, unrolling_limit=5)
    assert special.unrolling_limit == 5 and special.short_circuit_operators is True
    assert qd.cfg is None


@pytest.mark.parametrize("variable", ["QD_LOAD_IR", "QUADRANTS_LOAD_PTX"])
def test_load_switches_need_caches_off(name, variable, monkeypatch):
    monkeypatch.setenv(variable, "1")
    with pytest.raises(ValueError, match=f"^Caching must be disabled when using {variable}"):
        qd.init(arch=name)
    with pytest.raises(ValueError, match="^Caching must be disabled"):
        qd.init(arch=name, offline_cache=False)
    qd.init(arch=name, offline_cache=False, src_ll_cache=False)
    monkeypatch.setenv(variable, "0")
    qd.init(arch=name)


def test_dumps_warn_of_warm_caches(name, monkeypatch):
    with pytest.warns(UserWarning, match=r"\[warning_code=DUMP_IR_CACHE_MISMATCH\]"):
        qd.init(arch=name, print_ir=True)
    monkeypatch.setenv("QD_DUMP_IR", "1")
    with pytest.warns(UserWarning, match=r"\[warning_code=DUMP_IR_CACHE_MISMATCH\]"):
        qd.init(arch=name)


def test_cache_path(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert config.default_cache_path() == str(tmp_path / "quadrants" / "qdcache")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert config.default_cache_path() == str(tmp_path / "home" / ".cache" / "quadrants" / "qdcache")


def test_context_config_follows_the_table():
    values = config.defaults() | {"random_seed": -1, "per_offload_cache": True, "opt_level": 3, "fast_math": False}
    made = config.context_config(values, ["cpu"], "/plugins")
    assert made["random_seed"] == 0xFFFFFFFF and made["per_offload"] == 1
    assert made["options"]["opt_level"] == "3" and made["options"]["fast_math"] == "0"
    assert made["cache_max_bytes"] == 100 << 20 and made["cleaning_policy"] == "lru"


def test_logging_levels(name):
    qd.set_logging_level(qd.WARN)
    assert qd.is_logging_effective("error") and not qd.is_logging_effective("info")
    qd.set_logging_level("info")
    with pytest.raises(ValueError, match="unknown logging level 'loud'"):
        qd.set_logging_level("loud")


def test_without_init():
    qd.reset()
    for use in (qd.sync, qd.dump_compile_config, lambda: qd.field(qd.f32, 3), lambda: qd.ndarray(qd.f32, 3)):
        with pytest.raises(qd.QuadrantsRuntimeError, match="qd.init"):
            use()


def test_backends_command():
    done = subprocess.run([sys.executable, "-m", "quadrants", "backends"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "reference" in done.stdout and "usable" in done.stdout


def test_the_cpu_of_another_machine():
    other = qd.x64 if qd.cpu is qd.arm64 else qd.arm64
    with pytest.raises(RuntimeError, match="is not supported: the CPU of this machine is"):
        qd.init(arch=other, enable_fallback=False)
    qd.init(arch=other, offline_cache=False)
    assert qd.cfg.arch is qd.cpu and not qd.lang.misc.is_arch_supported(other)
    qd.reset()

"""Everything that Emulsion needs from outside, for its own WORKSPACE and for its users':

    local_repository(name = "emulsion", path = "...")   # or http_archive
    load("@emulsion//bazel:repositories.bzl", "emulsion_repositories")
    emulsion_repositories()

A repository that the calling workspace has declared before is left as it is.
"""

load(":debian.bzl", "debian_files", "debian_tree")
load(":npm.bzl", "npm_tool")
load(":python_packages.bzl", "python_packages")
load(":wheel.bzl", "pinned_wheel")

def _maybe(rule, name, **kwargs):
    if not native.existing_rule(name):
        rule(name = name, **kwargs)

def _third_party(name):
    return Label("//bazel:third_party/{}.BUILD".format(name))

# Debian's rules_cc is newer than Debian's Bazel in one function, which only says this.
_CPP_TOOLCHAIN = [
    "load(\"@bazel_tools//tools/cpp:toolchain_utils.bzl\", \"find_cpp_toolchain\", \"use_cpp_toolchain\")",
    "load(\"@bazel_tools//tools/cpp:toolchain_utils.bzl\", \"find_cpp_toolchain\")",
    "use_cpp_toolchain()",
    "[\"@bazel_tools//tools/cpp:toolchain_type\"]",
]

def _bazel_rules():
    _maybe(
        debian_tree,
        name = "rules_cc",
        package = "bazel-rules-cc",
        path = "/usr/share/bazel/rules/cc",
        replace = {
            "cc/private/rules_impl/cc_flags_supplier.bzl": _CPP_TOOLCHAIN,
            "cc/private/rules_impl/compiler_flag.bzl": _CPP_TOOLCHAIN,
        },
    )
    _maybe(debian_tree, name = "rules_java", package = "bazel-rules-java", path = "/usr/share/bazel/rules/java")
    _maybe(debian_tree, name = "rules_proto", package = "bazel-rules-proto", path = "/usr/share/bazel/rules/proto")
    _maybe(debian_tree, name = "platforms", package = "bazel-platforms", path = "/usr/share/bazel/tools/platforms")
    _maybe(debian_tree, name = "bazel_skylib", package = "bazel-skylib", path = "/usr/share/bazel/tools/skylib")

    # Every C++ test refers to the coverage tools, whether or not coverage is asked for.
    _maybe(
        debian_files,
        name = "remote_coverage_tools",
        build_file = _third_party("remote_coverage_tools"),
        package = "bazel-bootstrap",
    )

def _cpp_libraries():
    _maybe(
        debian_files,
        name = "googletest",
        build_file = _third_party("googletest"),
        links = {
            "include/gmock": "/usr/include/gmock",
            "include/gtest": "/usr/include/gtest",
            "lib/libgmock.a": "/usr/lib/x86_64-linux-gnu/libgmock.a",
            "lib/libgtest.a": "/usr/lib/x86_64-linux-gnu/libgtest.a",
        },
        package = "libgmock-dev",
    )
    _maybe(
        debian_files,
        name = "google_benchmark",
        build_file = _third_party("google_benchmark"),
        links = {"include/benchmark": "/usr/include/benchmark"},
        package = "libbenchmark-dev",
    )
    _maybe(
        debian_files,
        name = "nlohmann_json",
        build_file = _third_party("nlohmann_json"),
        links = {"include/nlohmann": "/usr/include/nlohmann"},
        package = "nlohmann-json3-dev",
    )
    _maybe(
        debian_files,
        name = "fmt",
        build_file = _third_party("fmt"),
        links = {
            "include/fmt": "/usr/include/fmt",
            "lib/libfmt.so.9": "/usr/lib/x86_64-linux-gnu/libfmt.so.9",
        },
        package = "libfmt-dev",
    )
    _maybe(
        debian_files,
        name = "cli11",
        build_file = _third_party("cli11"),
        links = {"include/CLI": "/usr/include/CLI"},
        package = "libcli11-dev",
    )

    _maybe(
        debian_files,
        name = "libjpeg_turbo",
        build_file = _third_party("libjpeg_turbo"),
        links = {"include/turbojpeg.h": "/usr/include/turbojpeg.h"},
        package = "libturbojpeg0-dev",
    )
    _maybe(
        debian_files,
        name = "libpng",
        build_file = _third_party("libpng"),
        links = {
            "include/png.h": "/usr/include/libpng16/png.h",
            "include/pngconf.h": "/usr/include/libpng16/pngconf.h",
            "include/pnglibconf.h": "/usr/include/libpng16/pnglibconf.h",
        },
        package = "libpng-dev",
    )
    _maybe(
        debian_files,
        name = "sqlite",
        build_file = _third_party("sqlite"),
        links = {"include/sqlite3.h": "/usr/include/sqlite3.h"},
        package = "libsqlite3-dev",
    )

def _wheels():
    _maybe(
        pinned_wheel,
        name = "halide",
        build_file = _third_party("halide"),
        files = [
            "halide/include/*.h=include/",
            "halide/include/HalideRuntime.h=runtime/",
            "halide/include/HalideBuffer.h=runtime/",
            "halide/lib64/libHalide.so=lib64/",
            "halide/lib64/libautoschedule_*.so=lib64/",
            "halide/bin/gengen=bin/",
            "halide/bin/get_host_target=bin/",
            "halide/share/doc/Halide/LICENSE.txt=./",
        ],
        package = "halide",
        sha256 = "3686c2b4c9aed1e26e1e55631608b2c4a4c3fe2d4386505ba1921859adb683ab",
        version = "21.0.0",
    )
    _maybe(
        pinned_wheel,
        name = "scikit_learn_data",
        build_file = _third_party("scikit_learn_data"),
        files = [
            "sklearn/datasets/data/digits.csv.gz=./",
            "sklearn/datasets/images/*.jpg=./",
        ],
        gunzip = True,
        package = "scikit-learn",
        sha256 = "52a0703bbc07ad27f560fa63fa68e4c54dd735bfbbf65b4dd3c225dc7547b6df",
        version = "1.9.1",
    )

# What gradients are compared with, and a peer of examples/train_digits. Nothing is built of it.
def _test_oracles():
    _maybe(
        python_packages,
        name = "emulsion_test_jax",
        hashes = {
            "jax==0.10.2": "724d73c4678d8b06f6a6ab4db1b8a2fea8cd4f1e2c2564f99601634ec7b8d1c6",
            "jaxlib==0.10.2": "1faca3c5d4662cb4a6130a68105d68bb520764817e165d6eebfd6786c0d1f30f",
            "ml_dtypes==0.6.0": "6c8e39b53e90afda8ce52859c93de4dba3e02b76d85dcf091cc469f9184c6dae",
            "numpy==2.4.6": "89cd468399cfd2504718f0ba50e410dca55a170b61a02ad92bb18c8a65186e93",
            "opt_einsum==3.4.0": "69bb92469f86a1565195ece4ac0323943e83477171b91d24c35afe028a90d7cd",
            "scipy==1.17.1": "43af8d1f3bea642559019edfe64e9b11192a8978efbd1539d7bc2aaa23d92de4",
        },
    )

# A peer of //benchmarks:onnx_runtime.
def _benchmark_peers():
    _maybe(
        python_packages,
        name = "emulsion_peer_onnx_runtime",
        hashes = {
            "flatbuffers==25.12.19": "7634f50c427838bb021c2d66a3d1168e9d199b0607e6329399f04846d42e20b4",
            "ml_dtypes==0.6.0": "6c8e39b53e90afda8ce52859c93de4dba3e02b76d85dcf091cc469f9184c6dae",
            "numpy==2.4.6": "89cd468399cfd2504718f0ba50e410dca55a170b61a02ad92bb18c8a65186e93",
            "onnx==1.22.0": "1d0a2bdb15eb2b3cb65c438f3423d9620d14fdce32f92380e6bb1b2e09568ef5",
            "onnxruntime==1.31.0": "d4092b78fc5bab77ce6522393098cdb2535423045ecdcff15cc0d022162d6b66",
            "packaging==26.3": "d7193f7c8e4e93f444fde0262bf90af30e16fa0ad0ad44cb553c87339b23cd1c",
            "protobuf==7.36.2": "89f23aa53c24553a2416fd4fd1ec06f74fa42b14b546d8883128813f775bbfd2",
            "typing_extensions==4.16.0": "481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8",
        },
    )

def _style_tools():
    # Debian's 14 matches its checks in the headers of the system too, which takes most of its time.
    _maybe(
        pinned_wheel,
        name = "clang_tidy",
        build_file = _third_party("clang_tidy"),
        files = [
            "clang_tidy/data/bin/clang-tidy=bin/",
            "clang_tidy/data/lib/clang/23/include/*.h=lib/clang/23/include/",
        ],
        package = "clang-tidy",
        sha256 = "6bb31e4f319ecbe14acb75f23c3050d0f1d4b1d92ea1c66091bc76e4eac2c1ac",
        version = "23.1.4",
    )
    _maybe(
        npm_tool,
        name = "buildifier",
        file = "package/buildifier-linux_amd64",
        integrity = "sha512-eZ/Aq+2r4PcJa6LbPCT6ffgIJfTU/gYilqIzoX2OLM4nNkbQC6tTMPZNn7aHHjhGPxbNLv41zm4Xqt1olCLgXw==",
        package = "@bazel/buildifier",
        version = "8.2.1",
    )

def emulsion_repositories():
    """Declares what Emulsion needs and the calling workspace does not declare itself."""
    _bazel_rules()
    _cpp_libraries()
    _wheels()
    _test_oracles()
    _benchmark_peers()
    _style_tools()

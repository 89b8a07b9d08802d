// Speed of every matrix kernel and of attention: GB/s of packed weights (few rows), GOP/s (many).
// Run by hand: build/release/bench_kernels [isa] [entry prefix]. Read next: lib/kernels/table.h.
//
// Each figure is the best of several rounds, and CPU time where one thread runs, so that a busy
// neighbour costs little; the read bandwidth beside the memory-bound figures is of the same run.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "kernels/dispatch.h"
#include "kernels/table.h"
#include "quant/packed.h"

namespace {

using fathom::DType;
using fathom::kernels::KernelTable;
using fathom::kernels::MatmulArgs;
using fathom::kernels::RowsView;
using fathom::quant::kBlockK;

constexpr DType kTypes[] = {
    DType::kQ4_0,  DType::kQ4_1,    DType::kQ5_0,    DType::kQ5_1, DType::kQ8_0,   DType::kQ2_K,
    DType::kQ3_K,  DType::kQ4_K,    DType::kQ5_K,    DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS,
    DType::kMXFP4, DType::kI4Group, DType::kI8Group, DType::kBF16, DType::kF32};
constexpr int64_t kCols = 2048;
constexpr int kGroupsOfCall = 4;
constexpr int kRounds = 5;

// 64-byte aligned memory.
class Memory {
 public:
  explicit Memory(int64_t bytes, int fill = 0)
      : data_(static_cast<std::byte*>(
            std::aligned_alloc(64, static_cast<size_t>((bytes + 63) / 64 * 64)))) {
    std::memset(data_, fill, static_cast<size_t>(bytes));
  }

  ~Memory() { std::free(data_); }

  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte* data_;
};

// Seconds of CPU time that this thread has had.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Seconds of the fastest of several runs of fn(thread) on n threads at once: of one thread its CPU
// time, of several the wall time.
double best_seconds(int n_threads, const std::function<void(int)>& fn) {
  double best = 1e30;
  for (int round = 0; round < kRounds; ++round) {
    if (n_threads == 1) {
      const double start = cpu_seconds();
      fn(0);
      best = std::min(best, cpu_seconds() - start);
      continue;
    }
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (int t = 0; t < n_threads; ++t) {
      threads.emplace_back(fn, t);
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    best = std::min(best, wall.count());
  }
  return best;
}

// Activations in all forms, all ones: the arithmetic does not depend on the values.
struct Activations {
  explicit Activations(int64_t n_rows) {
    const auto slots = static_cast<size_t>(n_rows * kCols / kBlockK);
    q.assign(slots * kBlockK, 1);
    floats.assign(slots * kBlockK, 1.0F);
    halves.assign(slots * kBlockK, 0x3F80);
    sums.assign(slots, 32);
    half_sums.assign(slots * 2, 16);
    d.assign(slots, 0.01F);
    view = {n_rows,      kCols / kBlockK,  q.data(),      d.data(),     d.data(),
            sums.data(), half_sums.data(), floats.data(), floats.data()};
    view.halves = halves.data();
  }

  std::vector<int8_t> q;
  std::vector<float> floats, d;
  std::vector<uint16_t> halves;
  std::vector<int32_t> sums, half_sums;
  RowsView view;
};

// Passes over groups [first, last) of a matrix, four groups a call.
void multiply(const KernelTable& table, DType type, const std::byte* weights, int64_t first,
              int64_t last, const Activations& x, std::byte* scratch, float* out) {
  const int64_t stride = fathom::quant::group_bytes(type, kCols);
  const bool few = x.view.n_rows <= fathom::kernels::kFewRows;
  const auto fn = (few ? table.matmul_few : table.matmul_many)[static_cast<int>(type)];
  for (int64_t g = first; g < last; g += kGroupsOfCall) {
    MatmulArgs args;
    args.weights = weights + g * stride;
    args.group_stride_bytes = stride;
    args.n_groups = kGroupsOfCall;
    args.n_cols = kCols;
    args.rows = x.view;
    args.n_rows = x.view.n_rows;
    args.out = out;
    args.out_stride = 16 * kGroupsOfCall;
    args.scratch = scratch;
    fn(args);
  }
}

void read_all(const std::byte* p, int64_t bytes) {
  constexpr int kStreams = 4;
  uint64_t sum[kStreams] = {};
  const int64_t part = bytes / kStreams / 64 * 64;
  for (int64_t i = 0; i < part; i += 64) {
    for (int s = 0; s < kStreams; ++s) {
      uint64_t word = 0;
      std::memcpy(&word, p + s * part + i, sizeof word);
      sum[s] += word;
    }
  }
  static std::atomic<uint64_t> sink;
  sink += sum[0] + sum[1] + sum[2] + sum[3];
}

struct Workspace {
  // As a scale, 0x3C is ordinary in every format (f16 1.06, f32 0.011, E8M0 2^-67); zeros would be
  // subnormal ones of MXFP4.
  Memory weights{int64_t{256} << 20, 0x3C};
  Memory scratch{2 * fathom::kernels::kMatmulScratchBytes};
  std::vector<float> out = std::vector<float>(static_cast<size_t>(2 * 512 * 64));
};

void measure(const KernelTable& table, DType type, Workspace& w) {
  const int64_t group_bytes = fathom::quant::group_bytes(type, kCols);
  const Activations one(1);
  const Activations four(4);
  const Activations many(512);
  const auto run = [&](const Activations& x, int n_threads, int64_t first, int64_t n_groups,
                       int times) {
    return best_seconds(n_threads, [&](int t) {
      for (int i = 0; i < times; ++i) {
        multiply(table, type, w.weights.data(), first + n_groups / n_threads * t,
                 first + n_groups / n_threads * (t + 1), x,
                 w.scratch.data() + t * fathom::kernels::kMatmulScratchBytes,
                 w.out.data() + static_cast<ptrdiff_t>(t) * 512 * 64);
      }
    });
  };
  const int64_t cached = std::max<int64_t>(4, (int64_t{768} << 10) / group_bytes / 4 * 4);
  const double gb = 1e-9 * static_cast<double>(group_bytes);
  const auto n_cached = static_cast<double>(cached);
  const double l2_one = gb * n_cached * 20 / run(one, 1, 0, cached, 20);
  const double l2_four = gb * n_cached * 10 / run(four, 1, 0, cached, 10);
  const int64_t all = (int64_t{256} << 20) / group_bytes / 8 * 8;
  const double dram = gb * static_cast<double>(all) / run(one, 2, 0, all, 1);
  const double read = 1e-9 * static_cast<double>(int64_t{256} << 20) / best_seconds(2, [&](int t) {
                        read_all(w.weights.data() + (t * (int64_t{128} << 20)), int64_t{128} << 20);
                      });
  const double gop = 2e-9 * 512 * static_cast<double>(kCols) * 16 * 64;
  const double many_rate = gop / run(many, 1, 0, 64, 1);
  fmt::print("{:8} {:9.1f} {:9.1f} {:9.1f} {:6.0f} % {:9.0f}\n", fathom::name_of(type), l2_one,
             l2_four, dram, 100 * dram / read, many_rate);
}

// GB/s of K and V, and GFLOP/s, of one KV head over a context of 4096 (decode) or 512 keys
// (prefill).
void measure_attend(const KernelTable& table, fathom::PageType type, int head_dim, int n_rows) {
  using fathom::kPageTokens;
  constexpr int kSpans = 8;
  constexpr const char* kNames[] = {"bf16", "f32 ", "int8"};
  constexpr int kPages = fathom::kSpanTokens / kPageTokens;
  const int64_t bytes = fathom::page_half_bytes(type, head_dim);
  const Memory pages(2 * bytes * kPages * kSpans);
  const Memory scratch(fathom::kernels::kAttendScratchBytes);
  std::vector<const std::byte*> k;
  std::vector<const std::byte*> v;
  for (int i = 0; i < kPages * kSpans; ++i) {
    k.push_back(pages.data() + 2 * i * bytes);
    v.push_back(pages.data() + (2 * i + 1) * bytes);
  }
  std::vector<float> q(static_cast<size_t>(n_rows * head_dim), 0.1F);
  std::vector<float> state(static_cast<size_t>(n_rows * (head_dim + 2)));
  const std::vector<int64_t> first(static_cast<size_t>(n_rows), 0);
  const std::vector<int64_t> last(static_cast<size_t>(n_rows), kSpans * fathom::kSpanTokens);
  const double seconds = best_seconds(1, [&](int) {
    for (int span = 0; span < kSpans; ++span) {
      fathom::kernels::AttendArgs args;
      args.q = q.data();
      args.q_stride = head_dim;
      args.n_rows = n_rows;
      args.head_dim = head_dim;
      args.value_dim = head_dim;
      args.k = k.data() + static_cast<ptrdiff_t>(span) * kPages;
      args.v = v.data() + static_cast<ptrdiff_t>(span) * kPages;
      args.n_pages = kPages;
      args.first_position = int64_t{span} * fathom::kSpanTokens;
      args.first_visible = first.data();
      args.last_visible = last.data();
      args.m = state.data();
      args.l = args.m + n_rows;
      args.o = args.l + n_rows;
      args.scratch = scratch.data();
      table.attend_span[static_cast<int>(type)](args);
    }
  });
  const double read = 2e-9 * static_cast<double>(bytes) * kPages * kSpans;
  const double flop = 4e-9 * n_rows * head_dim * kSpans * fathom::kSpanTokens;
  fmt::print("attend {} head_dim {:3} rows {:2}: {:6.1f} GB/s of K and V, {:6.1f} GFLOP/s\n",
             kNames[static_cast<size_t>(type)], head_dim, n_rows, read / seconds, flop / seconds);
}

}  // namespace

int main(int argc, char** argv) {
  const fathom::CpuFeatures features = fathom::detect_cpu();
  fathom::Isa cap = fathom::kAutomaticIsa;
  bool is_request = false;
  for (const fathom::Isa isa : fathom::kAllIsas) {
    if (argc > 1 && fathom::name_of(isa) == argv[1]) {
      cap = isa;
      is_request = true;
    }
  }
  const std::string only = argc > 2 ? argv[2] : "";
  const auto dispatch = fathom::kernels::make_dispatch(features, cap, is_request, false);
  const KernelTable& table = dispatch.table;
  fmt::print("{}, {}, K = {}\n", features.model, fathom::name_of(dispatch.isa), kCols);
  fmt::print(
      "         L2 M=1    L2 M=4    DRAM 2T   of read  M=512, 1T\n"
      "         GB/s      GB/s      GB/s                GOP/s\n");
  Workspace workspace;
  for (const DType type : kTypes) {
    if (fathom::name_of(type).starts_with(only)) {
      measure(table, type, workspace);
    }
  }
  if (std::string("attend").starts_with(only)) {
    for (const auto type :
         {fathom::PageType::kBF16, fathom::PageType::kF32, fathom::PageType::kInt8}) {
      for (const int n_rows : {1, 3, 4, 8, 64}) {
        measure_attend(table, type, 64, n_rows);
        measure_attend(table, type, 128, n_rows);
      }
    }
  }
  return 0;
}

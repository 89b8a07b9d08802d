// What a load run measured: figures, a table line, JSON, a page with pictures.
// Called by apps/fathom/bench_serve.cc. Read next: load_report.cc, api/load_run.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/load_run.h"

namespace fathom::api {

// Seconds. Zeros where nothing was measured.
struct Percentiles {
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
};

// The smallest value that at least that share of the values does not exceed.
Percentiles percentiles_of(std::vector<double> values);

struct LoadFigures {
  int64_t n_clients = 0;  // 0: open loop
  double rate_per_s = 0;
  int64_t n_good = 0;
  int64_t n_failed = 0;
  double wall_s = 0;
  double requests_per_s = 0;  // that went well
  double output_tokens_per_s = 0;
  double prompt_tokens_per_s = 0;
  Percentiles first_token;
  Percentiles inter_token;
  Percentiles total;
  std::string first_error;  // empty: none
};

LoadFigures figures_of(const LoadResult& result);

// Lines of a table; the head's columns are those of a row.
std::string load_table_head();
std::string load_table_row(const LoadFigures& figures);

std::string load_json(const LoadPlan& plan, const std::vector<LoadFigures>& levels);

// A page that needs nothing else: output tokens per second and latencies against clients (or
// arrivals per second), drawn as SVG, and the table.
std::string load_html(const LoadPlan& plan, const std::vector<LoadFigures>& levels);

}  // namespace fathom::api

// Pictures have the levels side by side at equal distances: client counts usually double.
// Read next: apps/fathom/bench_serve.cc.
#include "api/load_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace fathom::api {

namespace {

double at_share(const std::vector<double>& sorted, double share) {
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

nlohmann::json json_of(const Percentiles& values) {
  return {{"p50", values.p50}, {"p95", values.p95}, {"p99", values.p99}};
}

std::string level_name(const LoadFigures& figures) {
  return figures.n_clients > 0 ? fmt::format("{}", figures.n_clients)
                               : fmt::format("{:g}/s", figures.rate_per_s);
}

std::string escape_html(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

struct Curve {
  std::string name;
  std::string color;
  std::vector<double> values;  // one for each level
};

constexpr double kWidth = 560;
constexpr double kHeight = 280;
constexpr double kLeft = 64;
constexpr double kBottom = 40;

double x_of(size_t i, size_t n) {
  const double step = (kWidth - kLeft - 24) / std::max<double>(1, static_cast<double>(n) - 1);
  return kLeft + static_cast<double>(i) * step;
}

// Curves over the levels, from 0 to the largest value.
std::string picture(const std::string& title, const std::vector<LoadFigures>& levels,
                    const std::vector<Curve>& curves) {
  double most = 1e-9;
  for (const Curve& curve : curves) {
    most = std::max(most, *std::max_element(curve.values.begin(), curve.values.end()));
  }
  const auto y_of = [most](double value) {
    return kHeight - kBottom - value / most * (kHeight - kBottom - 40);
  };
  std::string svg = fmt::format(
      "<svg viewBox='0 0 {} {}' role='img' aria-label='{}'><text x='{}' y='18' class='t'>{}</text>",
      kWidth, kHeight, title, kLeft, title);
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    const double y = y_of(share * most);
    svg += fmt::format(
        "<line x1='{0}' x2='{1}' y1='{2:.1f}' y2='{2:.1f}' class='g'/><text x='{3}' y='{4:.1f}' "
        "class='a' text-anchor='end'>{5:.3g}</text>",
        kLeft, kWidth - 24, y, kLeft - 6, y + 4, share * most);
  }
  for (size_t i = 0; i < levels.size(); ++i) {
    svg += fmt::format("<text x='{:.1f}' y='{}' class='a' text-anchor='middle'>{}</text>",
                       x_of(i, levels.size()), kHeight - kBottom + 18, level_name(levels[i]));
  }
  double legend = kLeft + 220;
  for (const Curve& curve : curves) {
    std::string points;
    for (size_t i = 0; i < curve.values.size(); ++i) {
      points += fmt::format("{:.1f},{:.1f} ", x_of(i, levels.size()), y_of(curve.values[i]));
      svg += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='3' fill='{}'/>",
                         x_of(i, levels.size()), y_of(curve.values[i]), curve.color);
    }
    svg += fmt::format("<polyline points='{}' fill='none' stroke='{}' stroke-width='2'/>", points,
                       curve.color);
    svg += fmt::format("<text x='{}' y='18' class='a' fill='{}'>{}</text>", legend, curve.color,
                       curve.name);
    legend += 60;
  }
  return svg + "</svg>\n";
}

std::vector<Curve> percentile_curves(const std::vector<LoadFigures>& levels,
                                     Percentiles LoadFigures::*member) {
  std::vector<Curve> curves = {
      {"p50", "#1b7f5c", {}}, {"p95", "#c77d0a", {}}, {"p99", "#b3261e", {}}};
  for (const LoadFigures& level : levels) {
    const Percentiles& values = level.*member;
    curves[0].values.push_back(values.p50);
    curves[1].values.push_back(values.p95);
    curves[2].values.push_back(values.p99);
  }
  return curves;
}

constexpr const char* kStyle =
    "body{font:15px system-ui,sans-serif;max-width:1180px;margin:2em auto;padding:0 1em;color:#222}"
    "svg{width:100%;max-width:560px;background:#fafafa;border:1px solid #ddd;margin:4px}"
    ".t{font-size:14px;font-weight:600}.a{font-size:11px}.g{stroke:#ddd}"
    "table{border-collapse:collapse}td,th{padding:4px 10px;text-align:right;border-bottom:1px "
    "solid "
    "#ddd}";

}  // namespace

Percentiles percentiles_of(std::vector<double> values) {
  if (values.empty()) {
    return {};
  }
  std::sort(values.begin(), values.end());
  return {at_share(values, 0.5), at_share(values, 0.95), at_share(values, 0.99)};
}

LoadFigures figures_of(const LoadResult& result) {
  LoadFigures figures;
  figures.n_clients = result.n_clients;
  figures.rate_per_s = result.rate_per_s;
  figures.wall_s = result.wall_s;
  std::vector<double> first, gaps, total;
  double n_prompt = 0;
  double n_generated = 0;
  for (const LoadSample& sample : result.samples) {
    if (!sample.error.empty()) {
      ++figures.n_failed;
      figures.first_error = figures.first_error.empty() ? sample.error : figures.first_error;
      continue;
    }
    ++figures.n_good;
    first.push_back(sample.first_token_s);
    total.push_back(sample.total_s);
    gaps.insert(gaps.end(), sample.gaps_s.begin(), sample.gaps_s.end());
    n_prompt += static_cast<double>(sample.n_prompt);
    n_generated += static_cast<double>(sample.n_generated);
  }
  const double wall = std::max(result.wall_s, 1e-9);
  figures.requests_per_s = static_cast<double>(figures.n_good) / wall;
  figures.output_tokens_per_s = n_generated / wall;
  figures.prompt_tokens_per_s = n_prompt / wall;
  figures.first_token = percentiles_of(std::move(first));
  figures.inter_token = percentiles_of(std::move(gaps));
  figures.total = percentiles_of(std::move(total));
  return figures;
}

std::string load_table_head() {
  return fmt::format("{:>8} {:>6} {:>6} {:>9} {:>9} {:>20} {:>23} {:>20}\n", "clients", "good",
                     "failed", "out tok/s", "in tok/s", "first token s 50/99",
                     "inter-token ms 50/99", "answer s 50/99");
}

std::string load_table_row(const LoadFigures& figures) {
  return fmt::format(
      "{:>8} {:>6} {:>6} {:>9.1f} {:>9.1f} {:>20} {:>23} {:>20}\n", level_name(figures),
      figures.n_good, figures.n_failed, figures.output_tokens_per_s, figures.prompt_tokens_per_s,
      fmt::format("{:.3f} / {:.3f}", figures.first_token.p50, figures.first_token.p99),
      fmt::format("{:.1f} / {:.1f}", 1e3 * figures.inter_token.p50, 1e3 * figures.inter_token.p99),
      fmt::format("{:.3f} / {:.3f}", figures.total.p50, figures.total.p99));
}

std::string load_json(const LoadPlan& plan, const std::vector<LoadFigures>& levels) {
  nlohmann::json rows = nlohmann::json::array();
  for (const LoadFigures& level : levels) {
    rows.push_back({{"clients", level.n_clients},
                    {"rate_per_s", level.rate_per_s},
                    {"good", level.n_good},
                    {"failed", level.n_failed},
                    {"wall_s", level.wall_s},
                    {"requests_per_s", level.requests_per_s},
                    {"output_tokens_per_s", level.output_tokens_per_s},
                    {"prompt_tokens_per_s", level.prompt_tokens_per_s},
                    {"first_token_s", json_of(level.first_token)},
                    {"inter_token_s", json_of(level.inter_token)},
                    {"total_s", json_of(level.total)},
                    {"first_error", level.first_error}});
  }
  const nlohmann::json object = {
      {"model", plan.model},
      {"requests", plan.n_requests},
      {"prompt_words", {plan.prompt_words.lowest, plan.prompt_words.highest}},
      {"max_tokens", {plan.max_tokens.lowest, plan.max_tokens.highest}},
      {"shared_words", plan.shared_words},
      {"seed", plan.seed},
      {"levels", rows}};
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string load_html(const LoadPlan& plan, const std::vector<LoadFigures>& levels) {
  Curve speed{"", "#1b4f9c", {}};
  for (const LoadFigures& level : levels) {
    speed.values.push_back(level.output_tokens_per_s);
  }
  const std::string over =
      !levels.empty() && levels.front().n_clients == 0 ? "arrivals per second" : "clients";
  std::string page = fmt::format(
      "<!doctype html><meta charset='utf-8'><title>fathom bench serve</title><style>{}</style>\n"
      "<h1>Load on {}:{}</h1><p>Model {}; {} requests a level; prompts of {} to {} words ({} of "
      "them shared before), answers of {} to {} tokens. Below each picture: {}.</p>\n",
      kStyle, escape_html(plan.target.host), plan.target.port, escape_html(plan.model),
      plan.n_requests, plan.prompt_words.lowest, plan.prompt_words.highest, plan.shared_words,
      plan.max_tokens.lowest, plan.max_tokens.highest, over);
  if (!levels.empty()) {
    page += picture("Output tokens per second", levels, {speed});
    page += picture("Time to first token, s", levels,
                    percentile_curves(levels, &LoadFigures::first_token));
    page +=
        picture("Token to token, s", levels, percentile_curves(levels, &LoadFigures::inter_token));
    page += picture("Whole answer, s", levels, percentile_curves(levels, &LoadFigures::total));
  }
  page += "<table><tr><th>" + over +
          "<th>good<th>failed<th>output tok/s<th>prompt tok/s<th>first token p50 s<th>p99 s"
          "<th>inter-token p50 ms<th>p99 ms<th>answer p50 s<th>p99 s</tr>\n";
  for (const LoadFigures& level : levels) {
    page += fmt::format(
        "<tr><td>{}<td>{}<td>{}<td>{:.1f}<td>{:.1f}<td>{:.3f}<td>{:.3f}<td>{:.1f}<td>{:.1f}"
        "<td>{:.3f}<td>{:.3f}</tr>\n",
        level_name(level), level.n_good, level.n_failed, level.output_tokens_per_s,
        level.prompt_tokens_per_s, level.first_token.p50, level.first_token.p99,
        1e3 * level.inter_token.p50, 1e3 * level.inter_token.p99, level.total.p50, level.total.p99);
  }
  return page + "</table>\n";
}

}  // namespace fathom::api

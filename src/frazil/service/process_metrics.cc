#include "frazil/service/process_metrics.h"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "frazil/base/memory_budget.h"
#include "frazil/base/number_text.h"

namespace frazil::service {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily Single(const char* name, const char* help, MetricType type, double value) {
  ClientMetric metric;
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  return {name, help, type, {metric}};
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// Fields of /proc/self/stat behind the name, which may hold blanks; the first is number 3 of proc(5).
std::vector<std::string> StatFields() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::vector<std::string> fields;
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

/// Second since 1970 at which the machine was started.
int64_t BootSecond() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("btime ")) return ReadNumber<int64_t>(std::string_view(line).substr(6)).value_or(0);
  }
  return 0;
}

}  // namespace

std::vector<MetricFamily> CollectProcessMetrics() {
  std::vector<MetricFamily> families;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    families.push_back(Single("process_cpu_seconds_total", "CPU time of user and system", MetricType::Counter,
                              Seconds(usage.ru_utime) + Seconds(usage.ru_stime)));
  }
  families.push_back(Single("process_resident_memory_bytes", "Resident memory", MetricType::Gauge,
                            static_cast<double>(MemoryBudget::ResidentBytes())));
  constexpr size_t kStartTime = 22 - 3;
  constexpr size_t kVirtualSize = 23 - 3;
  const std::vector<std::string> fields = StatFields();
  if (fields.size() > kVirtualSize) {
    families.push_back(Single("process_virtual_memory_bytes", "Virtual memory", MetricType::Gauge,
                              static_cast<double>(ReadNumber<int64_t>(fields[kVirtualSize]).value_or(0))));
    const double since_boot = static_cast<double>(ReadNumber<int64_t>(fields[kStartTime]).value_or(0)) /
                              static_cast<double>(sysconf(_SC_CLK_TCK));
    families.push_back(Single("process_start_time_seconds", "Start of the process, seconds since 1970 UTC",
                              MetricType::Gauge, static_cast<double>(BootSecond()) + since_boot));
  }
  std::error_code error;
  int64_t open_files = 0;
  for (auto it = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    ++open_files;
  }
  families.push_back(Single("process_open_fds", "Open files", MetricType::Gauge, static_cast<double>(open_files)));
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    families.push_back(
        Single("process_max_fds", "Limit of open files", MetricType::Gauge, static_cast<double>(limit.rlim_cur)));
  }
  return families;
}

}  // namespace frazil::service

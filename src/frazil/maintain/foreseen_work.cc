#include "frazil/maintain/foreseen_work.h"

namespace frazil::maintain {

ForeseenWork ForeseeRewriteOf(int64_t files, int64_t bytes) {
  // Decoding and encoding manifests and vectors, opening a file, and what a commit syncs one after the other.
  constexpr double kBytesPerCpuSecond = 50e6;
  constexpr double kCpuSecondsPerFile = 0.001;
  constexpr double kSecondsPerCommit = 0.1;
  if (files == 0) return {};
  const double cpu_seconds =
      static_cast<double>(bytes) / kBytesPerCpuSecond + kCpuSecondsPerFile * static_cast<double>(files);
  return {files, bytes, cpu_seconds, cpu_seconds + kSecondsPerCommit};
}

std::map<std::string, int64_t> PredictionOf(const Result<ForeseenWork>& work) {
  if (!work) return {};
  return {{"input_files", work->files}, {"input_bytes", work->bytes}};
}

}  // namespace frazil::maintain

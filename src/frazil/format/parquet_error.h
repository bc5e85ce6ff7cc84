#pragma once

#include <exception>
#include <new>
#include <string>
#include <type_traits>

#include <arrow/result.h>
#include <arrow/status.h>
#include <parquet/exception.h>

#include "frazil/base/result.h"

namespace frazil::format {

// Where Arrow's statuses and Parquet's exceptions end. Internal to the parquet_*.cc files.

/// An Error of ours on its way through Arrow, so that its code survives.
arrow::Status ToArrow(const Error& error);

/// `code` unless the status carries an Error of ours or says that memory or a feature is missing. The path goes last.
Error FromArrow(const arrow::Status& status, ErrorCode code, const std::string& path);

inline Status Check(const arrow::Status& status, ErrorCode code, const std::string& path) {
  if (status.ok()) return {};
  return tl::unexpected(FromArrow(status, code, path));
}

template <typename T>
Result<T> Check(arrow::Result<T> result, ErrorCode code, const std::string& path) {
  if (!result.ok()) return tl::unexpected(FromArrow(result.status(), code, path));
  return std::move(result).ValueUnsafe();
}

/// Runs `body`, which returns a Status or Result, and turns whatever it throws into an error.
template <typename Body>
std::invoke_result_t<Body> Guard(ErrorCode code, const std::string& path, const Body& body) {
  try {
    return body();
  } catch (const parquet::ParquetStatusException& exception) {
    return tl::unexpected(FromArrow(exception.status(), code, path));
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kResourceExhausted, "not enough memory for Parquet file: {}", path);
  } catch (const std::exception& exception) {
    return Fail(code, "Parquet: {}: {}", exception.what(), path);
  }
}

}  // namespace frazil::format

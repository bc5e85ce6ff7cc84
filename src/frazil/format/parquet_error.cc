#include "frazil/format/parquet_error.h"

namespace frazil::format {
namespace {

constexpr char kDetailId[] = "frazil::Error";

class ErrorDetail : public arrow::StatusDetail {
 public:
  explicit ErrorDetail(Error error) : error_(std::move(error)) {}
  const char* type_id() const override { return kDetailId; }
  std::string ToString() const override { return error_.ToString(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
};

}  // namespace

arrow::Status ToArrow(const Error& error) {
  return arrow::Status(arrow::StatusCode::IOError, error.message(), std::make_shared<ErrorDetail>(error));
}

Error FromArrow(const arrow::Status& status, ErrorCode code, const std::string& path) {
  if (status.detail() != nullptr && std::string_view(status.detail()->type_id()) == kDetailId) {
    return static_cast<const ErrorDetail&>(*status.detail()).error();
  }
  if (status.IsOutOfMemory()) code = ErrorCode::kResourceExhausted;
  if (status.IsNotImplemented()) code = ErrorCode::kNotSupported;
  return Error(code, fmt::format("Parquet: {}: {}", status.message(), path));
}

}  // namespace frazil::format

#include "frazil/base/error.h"

namespace frazil {

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "InvalidArgument";
    case ErrorCode::kInvalidTable: return "InvalidTable";
    case ErrorCode::kCorruptData: return "CorruptData";
    case ErrorCode::kNotFound: return "NotFound";
    case ErrorCode::kAlreadyExists: return "AlreadyExists";
    case ErrorCode::kNotSupported: return "NotSupported";
    case ErrorCode::kIo: return "Io";
    case ErrorCode::kUnavailable: return "Unavailable";
    case ErrorCode::kCommitConflict: return "CommitConflict";
    case ErrorCode::kCommitUnknown: return "CommitUnknown";
    case ErrorCode::kFenced: return "Fenced";
    case ErrorCode::kResourceExhausted: return "ResourceExhausted";
    case ErrorCode::kShuttingDown: return "ShuttingDown";
    case ErrorCode::kInternal: return "Internal";
  }
  return "Internal";
}

std::string Error::ToString() const {
  std::string text = message_;
  if (!hint_.empty()) text += " (" + hint_ + ")";
  for (const std::string& line : context_) text += "; while " + line;
  return text;
}

}  // namespace frazil

#include "frazil/spec/manifest.h"

#include "frazil/spec/ascii.h"

namespace frazil::spec {

std::string_view FileFormatName(FileFormat format) {
  switch (format) {
    case FileFormat::kParquet: return "PARQUET";
    case FileFormat::kAvro: return "AVRO";
    case FileFormat::kOrc: return "ORC";
    case FileFormat::kPuffin: return "PUFFIN";
  }
  return "UNKNOWN";
}

Result<FileFormat> ParseFileFormat(std::string_view name) {
  for (FileFormat format : {FileFormat::kParquet, FileFormat::kAvro, FileFormat::kOrc, FileFormat::kPuffin}) {
    if (EqualsAnyCase(name, FileFormatName(format))) return format;
  }
  return Fail(ErrorCode::kInvalidTable, "unknown file format: '{}'", name);
}

}  // namespace frazil::spec

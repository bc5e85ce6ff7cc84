#include "frazil/format/parquet_settings.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include <arrow/util/compression.h>
#include <parquet/arrow/schema.h>

#include "frazil/base/version.h"
#include "frazil/format/parquet_error.h"

namespace frazil::format {
namespace {

using parquet::Compression;

constexpr std::string_view kDictionaryPrefix = "write.parquet.dict-encoding-enabled.column.";
constexpr std::string_view kBloomPrefix = "write.parquet.bloom-filter-enabled.column.";
constexpr std::string_view kBloomFppPrefix = "write.parquet.bloom-filter-fpp.column.";
constexpr std::string_view kBloomNdvPrefix = "write.parquet.bloom-filter-ndv.column.";
constexpr std::string_view kStatisticsPrefix = "write.parquet.stats-enabled.column.";
constexpr std::string_view kDeltaIntegers = "frazil.write.parquet.delta-integers";
constexpr int kDefaultZstdLevel = 1;

std::string ToLower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

Result<Compression::type> ParseCodec(const std::string& name) {
  static const std::map<std::string, Compression::type, std::less<>> kCodecs = {
      {"zstd", Compression::ZSTD},
      {"gzip", Compression::GZIP},
      {"snappy", Compression::SNAPPY},
      {"lz4", Compression::LZ4_HADOOP},
      {"lz4_raw", Compression::LZ4},
      {"brotli", Compression::BROTLI},
      {"uncompressed", Compression::UNCOMPRESSED},
      {"none", Compression::UNCOMPRESSED}};
  const auto found = kCodecs.find(ToLower(name));
  if (found == kCodecs.end()) {
    return Fail(ErrorCode::kInvalidArgument,
                "unknown codec in write.parquet.compression-codec (zstd, gzip, snappy, lz4, brotli, uncompressed): {}",
                name);
  }
  if (!arrow::util::Codec::IsAvailable(found->second)) {
    return Fail(ErrorCode::kNotSupported, "Parquet codec is not built in: {}", name);
  }
  return found->second;
}

Result<int64_t> ParsePositive(const std::string& property, const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) {
    return Fail(ErrorCode::kInvalidArgument, "{} must be a positive number, but is: {}", property, text);
  }
  return value;
}

Result<bool> ParseBool(const std::string& property, const std::string& text) {
  const std::string lower = ToLower(text);
  if (lower == "true") return true;
  if (lower == "false") return false;
  return Fail(ErrorCode::kInvalidArgument, "{} must be true or false, but is: {}", property, text);
}

/// None for codecs that have no levels, as Java ignores it there.
Result<std::optional<int>> ParseLevel(const std::string& text, Compression::type codec) {
  if (codec != Compression::ZSTD && codec != Compression::GZIP && codec != Compression::BROTLI) return std::nullopt;
  int level = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), level);
  const auto lowest = arrow::util::Codec::MinimumCompressionLevel(codec);
  const auto highest = arrow::util::Codec::MaximumCompressionLevel(codec);
  if (error != std::errc() || end != text.data() + text.size() || !lowest.ok() || !highest.ok() || level < *lowest ||
      level > *highest) {
    return Fail(ErrorCode::kInvalidArgument, "write.parquet.compression-level is not one of {}: {}",
                arrow::util::Codec::GetCodecAsString(codec), text);
  }
  return level;
}

Result<double> ParseRate(const std::string& property, const std::string& text) {
  double rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  if (error != std::errc() || end != text.data() + text.size() || !(rate > 0 && rate < 1)) {
    return Fail(ErrorCode::kInvalidArgument, "{} must be a number between 0 and 1, but is: {}", property, text);
  }
  return rate;
}

/// Columns with a filter; what is said of others is checked and forgotten.
Status ParseBloomSettings(const std::map<std::string, std::string>& properties, ParquetSettings& settings) {
  std::map<std::string, BloomSettings> known;
  for (const auto& [property, value] : properties) {
    if (property.starts_with(kBloomFppPrefix)) {
      FRAZIL_ASSIGN(known[property.substr(kBloomFppPrefix.size())].fpp, ParseRate(property, value));
    } else if (property.starts_with(kBloomNdvPrefix)) {
      FRAZIL_ASSIGN(known[property.substr(kBloomNdvPrefix.size())].ndv, ParsePositive(property, value));
    }
  }
  for (const auto& [property, value] : properties) {
    if (!property.starts_with(kBloomPrefix)) continue;
    FRAZIL_ASSIGN(const bool is_wanted, ParseBool(property, value));
    const std::string column = property.substr(kBloomPrefix.size());
    if (is_wanted) settings.bloom_by_column[column] = known[column];
  }
  return {};
}

/// The most values that a filter of at most `bytes` holds at that rate: sizes are powers of two, eight bits are set a value.
int64_t MostValues(double fpp, int64_t bytes) {
  const auto size = static_cast<double>(std::bit_floor(static_cast<uint64_t>(bytes)));
  return std::max<int64_t>(1, static_cast<int64_t>(-size * std::log(1 - std::pow(fpp, 1.0 / 8))));
}

bool IsIntegerColumn(const parquet::ColumnDescriptor& column) {
  return column.physical_type() == parquet::Type::INT32 || column.physical_type() == parquet::Type::INT64;
}

template <typename Map>
std::optional<typename Map::mapped_type> Find(const Map& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

Result<ParquetSettings> ParseParquetSettings(const std::map<std::string, std::string>& properties) {
  ParquetSettings settings;
  if (const auto codec = Find(properties, "write.parquet.compression-codec")) {
    FRAZIL_ASSIGN(settings.codec, ParseCodec(*codec));
  }
  const std::map<std::string, int64_t*> sizes = {{"write.parquet.row-group-size-bytes", &settings.row_group_bytes},
                                                 {"write.parquet.page-size-bytes", &settings.page_bytes},
                                                 {"write.parquet.page-row-limit", &settings.page_rows},
                                                 {"write.parquet.dict-size-bytes", &settings.dictionary_bytes},
                                                 {"write.parquet.bloom-filter-max-bytes", &settings.bloom_bytes}};
  for (const auto& [property, value] : properties) {
    if (property == kDeltaIntegers) {
      FRAZIL_ASSIGN(settings.delta_integers, ParseBool(property, value));
    } else if (property.starts_with(kDictionaryPrefix)) {
      FRAZIL_ASSIGN(settings.dictionary_by_column[property.substr(kDictionaryPrefix.size())],
                    ParseBool(property, value));
    } else if (property.starts_with(kStatisticsPrefix)) {
      FRAZIL_ASSIGN(settings.statistics_by_column[property.substr(kStatisticsPrefix.size())],
                    ParseBool(property, value));
    } else if (property == "write.parquet.compression-level") {
      FRAZIL_ASSIGN(settings.level, ParseLevel(value, settings.codec));
    } else if (property == "write.parquet.page-version") {
      if (value != "v1" && value != "v2") {
        return Fail(ErrorCode::kInvalidArgument, "{} must be v1 or v2, but is: {}", property, value);
      }
      settings.page_v2 = value == "v2";
    } else if (const auto size = sizes.find(property); size != sizes.end()) {
      FRAZIL_ASSIGN(*size->second, ParsePositive(property, value));
    }
  }
  FRAZIL_TRY(ParseBloomSettings(properties, settings));
  return settings;
}

Result<std::shared_ptr<parquet::SchemaDescriptor>> ToParquetSchema(const arrow::Schema& schema) {
  parquet::WriterProperties::Builder properties;
  properties.version(parquet::ParquetVersion::PARQUET_2_6)->enable_store_decimal_as_integer();
  std::shared_ptr<parquet::SchemaDescriptor> descriptor;
  FRAZIL_TRY(Check(parquet::arrow::ToParquetSchema(&schema, *properties.build(),
                                                   *parquet::default_arrow_writer_properties(), &descriptor),
                   ErrorCode::kInvalidArgument, "columns of a data file"));
  return descriptor;
}

std::shared_ptr<parquet::WriterProperties> ToWriterProperties(const ParquetSettings& settings,
                                                              const parquet::SchemaDescriptor& schema,
                                                              const std::vector<ParquetLeaf>& leaves,
                                                              arrow::MemoryPool* memory) {
  parquet::WriterProperties::Builder builder;
  builder.memory_pool(memory)
      ->version(parquet::ParquetVersion::PARQUET_2_6)
      ->data_page_version(settings.page_v2 ? parquet::ParquetDataPageVersion::V2 : parquet::ParquetDataPageVersion::V1)
      ->created_by(fmt::format("frazil version {} (build {})", kVersion, kCommit))
      ->enable_store_decimal_as_integer()
      ->enable_write_page_index()
      ->data_pagesize(settings.page_bytes)
      ->max_rows_per_page(settings.page_rows)
      ->dictionary_pagesize_limit(settings.dictionary_bytes)
      ->max_row_group_length(std::numeric_limits<int64_t>::max());  // the writer begins row groups itself
  const std::optional<int> level =
      settings.codec == Compression::ZSTD ? settings.level.value_or(kDefaultZstdLevel) : settings.level;

  for (int i = 0; i < schema.num_columns(); ++i) {
    const parquet::ColumnDescriptor& column = *schema.Column(i);
    const ParquetLeaf& leaf = leaves[static_cast<size_t>(i)];
    const bool is_delta = settings.delta_integers && IsIntegerColumn(column);
    const Compression::type codec = is_delta ? Compression::UNCOMPRESSED : settings.codec;
    builder.compression(column.path(), codec);
    if (level && codec != Compression::UNCOMPRESSED) builder.compression_level(column.path(), *level);
    if (is_delta) builder.encoding(column.path(), parquet::Encoding::DELTA_BINARY_PACKED);
    if (Find(settings.dictionary_by_column, leaf.full_name).value_or(leaf.repeats)) {
      builder.enable_dictionary(column.path());
    } else {
      builder.disable_dictionary(column.path());
    }
    if (!Find(settings.statistics_by_column, leaf.full_name).value_or(true)) {
      builder.disable_statistics(column.path());
      builder.disable_write_page_index(column.path());
    }
    const auto bloom = Find(settings.bloom_by_column, leaf.full_name);
    if (bloom && column.physical_type() != parquet::Type::BOOLEAN) {
      parquet::BloomFilterOptions options;  // folded to what the row group needs when it is written
      options.fpp = bloom->fpp;
      const int64_t most = MostValues(bloom->fpp, settings.bloom_bytes);
      options.ndv = std::min(bloom->ndv.value_or(most), most);
      builder.enable_bloom_filter(column.path()->ToDotString(), options);
    }
  }
  return builder.build();
}

}  // namespace frazil::format

#include "frazil/write/column_metrics.h"

#include <random>

#include "frazil/base/test_support.h"
#include "frazil/spec/single_value.h"

namespace frazil::write {
namespace {

using spec::Field;
using spec::FieldId;
using spec::Type;
using spec::TypeId;

using Kind = MetricsMode::Kind;

std::string Utf8(char32_t c) {
  std::string out;
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += {static_cast<char>(0xc0 | (c >> 6)), static_cast<char>(0x80 | (c & 0x3f))};
  } else if (c < 0x10000) {
    out += {static_cast<char>(0xe0 | (c >> 12)), static_cast<char>(0x80 | ((c >> 6) & 0x3f)),
            static_cast<char>(0x80 | (c & 0x3f))};
  } else {
    out += {static_cast<char>(0xf0 | (c >> 18)), static_cast<char>(0x80 | ((c >> 12) & 0x3f)),
            static_cast<char>(0x80 | ((c >> 6) & 0x3f)), static_cast<char>(0x80 | (c & 0x3f))};
  }
  return out;
}

TEST(TruncateBounds, KeepWhatIsShortEnough) {
  EXPECT_EQ(TruncateLower("abc", 3), "abc");
  EXPECT_EQ(TruncateUpper("abc", 3), "abc");
  EXPECT_EQ(TruncateLower("", 3), "");
  EXPECT_EQ(TruncateUpper("", 3), "");
}

TEST(TruncateBounds, CutByCodePoints) {
  const std::string text = "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80x";  // 2, 3, 4 and 1 bytes
  EXPECT_EQ(TruncateLower(text, 1), "\xc3\xa9");
  EXPECT_EQ(TruncateLower(text, 2), "\xc3\xa9\xe2\x82\xac");
  EXPECT_EQ(TruncateLower(text, 3), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(TruncateUpper(text, 2), "\xc3\xa9\xe2\x82\xad");
}

TEST(TruncateBounds, SkipSurrogatesAndCarry) {
  EXPECT_EQ(TruncateUpper("a\xed\x9f\xbfx", 2), "a\xee\x80\x80");  // U+D7FF -> U+E000
  EXPECT_EQ(TruncateUpper("a\xf4\x8f\xbf\xbfx", 2), "b");          // U+10FFFF cannot grow
  EXPECT_EQ(TruncateUpper("\xf4\x8f\xbf\xbfx", 1), std::nullopt);
  EXPECT_EQ(TruncateUpper("\x7fx", 1), "\xc2\x80");  // longer in bytes, still above
}

TEST(TruncateBounds, CarryOverBytes) {
  const auto bytes = [](std::initializer_list<int> list) {
    Bytes out;
    for (const int b : list) out.push_back(static_cast<std::byte>(b));
    return out;
  };
  EXPECT_EQ(TruncateUpper(bytes({1, 0xff, 0xff, 7}), 3), bytes({2}));
  EXPECT_EQ(TruncateUpper(bytes({0xff, 0xff, 1}), 2), std::nullopt);
  EXPECT_EQ(TruncateUpper(bytes({0xff, 0xff}), 2), bytes({0xff, 0xff}));
  EXPECT_EQ(TruncateLower(bytes({1, 2, 3}), 2), bytes({1, 2}));
}

TEST(TruncateBounds, AreOnTheirSidesOfEveryText) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<std::pair<char32_t, char32_t>> ranges = {
      {0, 0x7f},           {0x80, 0x7ff},        {0x800, 0xd7ff}, {0xe000, 0xffff},
      {0x10000, 0x10ffff}, {0x10fffe, 0x10ffff}, {0xd7fe, 0xd7ff}};
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    const unsigned length = random() % 12;
    for (unsigned i = 0; i < length; ++i) {
      const auto& [low, high] = ranges[random() % ranges.size()];
      // Byte soup now and then: foreign strings need not be UTF-8.
      text +=
          random() % 40 == 0 ? std::string(1, static_cast<char>(random())) : Utf8(low + random() % (high - low + 1));
    }
    for (int cut = 1; cut <= 12; ++cut) {
      const std::string lower = TruncateLower(text, cut);
      ASSERT_LE(lower, text);
      ASSERT_TRUE(text.starts_with(lower));
      if (const auto upper = TruncateUpper(text, cut)) {
        // std::string compares as unsigned bytes, as Iceberg does.
        ASSERT_GE(*upper, text) << ToHex(AsBytes(text)) << " cut " << cut << " gave " << ToHex(AsBytes(*upper));
        ASSERT_TRUE(*upper == text || *upper > lower + "\xff") << ToHex(AsBytes(text)) << " cut " << cut;
      }
      const Bytes bytes = CopyBytes(AsBytes(text));
      ASSERT_LE(TruncateLower(bytes, cut), bytes);
      if (const auto upper = TruncateUpper(bytes, cut)) {
        ASSERT_GE(*upper, bytes);
      }
    }
  }
}

spec::SchemaPtr Columns() {
  const Type text = Type::Primitive(TypeId::kString);
  const Type nested = Type::StructOf({{.id = FieldId{5}, .name = "b", .type = text}});
  return *spec::Schema::Make(
      spec::SchemaId{0},
      {{.id = FieldId{1}, .name = "s", .type = nested},
       {.id = FieldId{2}, .name = "a", .type = text},
       {.id = FieldId{3}, .name = "c", .type = Type::Primitive(TypeId::kDouble)},
       {.id = FieldId{4}, .name = "l", .type = Type::ListOf({.id = FieldId{6}, .name = "element", .type = text})}});
}

spec::TableMetadata MetadataWith(std::map<std::string, std::string> properties) {
  spec::TableMetadata metadata;
  metadata.properties = std::move(properties);
  metadata.schemas = {Columns()};
  metadata.sort_orders = {spec::SortOrder{}};
  return metadata;
}

TEST(MetricsConfig, TruncatesToSixteenByDefault) {
  ASSERT_OK_AND_ASSIGN(const auto config, MetricsConfig::Make(MetadataWith({}), *Columns()));
  EXPECT_EQ(config.ModeOf(FieldId{2}), (MetricsMode{Kind::kTruncate, 16}));
  EXPECT_EQ(config.ModeOf(FieldId{5}), (MetricsMode{Kind::kTruncate, 16}));
  EXPECT_EQ(config.ModeOf(FieldId{6}).kind, Kind::kNone);  // inside a list
  EXPECT_EQ(config.ModeOf(spec::kRowIdColumnId).kind, Kind::kNone);
}

TEST(MetricsConfig, MeasuresTheFirstColumnsOnly) {
  ASSERT_OK_AND_ASSIGN(
      const auto config,
      MetricsConfig::Make(MetadataWith({{"write.metadata.metrics.max-inferred-column-defaults", "2"}}), *Columns()));
  EXPECT_EQ(config.ModeOf(FieldId{2}).kind, Kind::kTruncate);  // the top level comes before nested columns
  EXPECT_EQ(config.ModeOf(FieldId{3}).kind, Kind::kTruncate);
  EXPECT_EQ(config.ModeOf(FieldId{5}).kind, Kind::kNone);
}

TEST(MetricsConfig, TakesModesOfColumnsAndTheDefault) {
  ASSERT_OK_AND_ASSIGN(const auto config,
                       MetricsConfig::Make(MetadataWith({{"write.metadata.metrics.default", "COUNTS"},
                                                         {"write.metadata.metrics.column.a", "full"},
                                                         {"write.metadata.metrics.column.s.b", "truncate(3)"},
                                                         {"write.metadata.metrics.column.gone", "none"}}),
                                           *Columns()));
  EXPECT_EQ(config.ModeOf(FieldId{2}).kind, Kind::kFull);
  EXPECT_EQ(config.ModeOf(FieldId{5}), (MetricsMode{Kind::kTruncate, 3}));
  EXPECT_EQ(config.ModeOf(FieldId{3}).kind, Kind::kCounts);
}

TEST(MetricsConfig, RefusesBadModesNamingTheProperty) {
  for (const char* bad : {"", "truncate", "truncate()", "truncate(0)", "truncate(-1)", "truncate(x)", "truncate(3",
                          "truncate(3)x", "some"}) {
    EXPECT_THAT(MetricsConfig::Make(MetadataWith({{"write.metadata.metrics.column.a", bad}}), *Columns()),
                IsError(ErrorCode::kInvalidArgument, "write.metadata.metrics.column.a"))
        << bad;
  }
}

TEST(SetColumnMetrics, KeepsWhatEachModeAllows) {
  format::ParquetMetrics metrics;
  metrics.record_count = 9;
  for (const int id : {2, 5, 3}) {
    metrics.column_sizes[FieldId{id}] = 100;
    metrics.value_counts[FieldId{id}] = 9;
    metrics.null_value_counts[FieldId{id}] = 1;
  }
  metrics.nan_value_counts[FieldId{3}] = 2;
  for (const int id : {2, 5}) {
    metrics.lower_bounds[FieldId{id}] = std::string("abcdef");
    metrics.upper_bounds[FieldId{id}] = std::string("abcdef");
  }
  metrics.lower_bounds[FieldId{3}] = -0.0;
  metrics.upper_bounds[FieldId{3}] = 0.0;
  ASSERT_OK_AND_ASSIGN(const auto config,
                       MetricsConfig::Make(MetadataWith({{"write.metadata.metrics.column.a", "truncate(3)"},
                                                         {"write.metadata.metrics.column.s.b", "counts"}}),
                                           *Columns()));
  spec::DataFile file;
  SetColumnMetrics(metrics, *Columns(), config, file);
  EXPECT_EQ(file.record_count, 9);
  EXPECT_EQ(AsText(file.lower_bounds.at(FieldId{2})), "abc");
  EXPECT_EQ(AsText(file.upper_bounds.at(FieldId{2})), "abd");
  EXPECT_EQ(file.null_value_counts.at(FieldId{5}), 1);
  EXPECT_FALSE(file.lower_bounds.contains(FieldId{5}));
  EXPECT_EQ(file.nan_value_counts.at(FieldId{3}), 2);
  EXPECT_EQ(ToHex(file.lower_bounds.at(FieldId{3})), "0000000000000080");
  EXPECT_EQ(ToHex(file.upper_bounds.at(FieldId{3})), "0000000000000000");
}

}  // namespace
}  // namespace frazil::write

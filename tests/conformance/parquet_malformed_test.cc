// Parquet files with broken bytes end in rows or in an error that names the file: read whole and row by row, never a crash,
// an endless loop or memory without bounds. Files in every encoding, each damaged in many ways from a printed seed.

#include <map>
#include <random>

#include <arrow/api.h>

#include "frazil/base/test_support.h"
#include "frazil/format/parquet_reader.h"
#include "frazil/format/parquet_row_reader.h"
#include "frazil/io/memory_file_io.h"
#include "tests/support/golden.h"

namespace frazil::format {
namespace {

using Random = std::mt19937_64;

constexpr char kPath[] = "memory:/damaged.parquet";
constexpr int kDamagesPerFile = 60;

/// Some bytes changed, zeroed, moved or cut off; at the end of the file, where the footer is, as often as anywhere else.
Bytes Damaged(Bytes bytes, Random& random) {
  const auto place = [&] {
    const size_t range = random() % 2 == 0 ? bytes.size() : std::min<size_t>(bytes.size(), 400);
    return bytes.size() - 1 - random() % range;
  };
  for (uint64_t change = 1 + random() % 3; change > 0 && bytes.size() > 16; --change) {
    const size_t at = place();
    const size_t length = std::min<size_t>(1 + random() % 16, bytes.size() - at);
    switch (random() % 5) {
      case 0: bytes[at] ^= static_cast<std::byte>(1U << random() % 8); break;
      case 1: bytes[at] = static_cast<std::byte>(random()); break;
      case 2: std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length, std::byte{0xff}); break;
      case 3:
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(random() % (bytes.size() - length)), length,
                    bytes.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      default:
        bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    bytes.begin() + static_cast<std::ptrdiff_t>(at + length));
    }
  }
  return bytes;
}

/// What came of one file; kinds are counted, so that a test that damages nothing, or all beyond recognition, shows.
enum class Outcome { kNotOpened, kNotRead, kRead };

void ExpectNamed(const Error& error) { EXPECT_THAT(error.ToString(), ::testing::HasSubstr(kPath)); }

/// All columns, row by row and as a whole.
Outcome ReadRows(const std::shared_ptr<const ParquetReader>& file, const std::vector<spec::Field>& fields) {
  Outcome outcome = Outcome::kRead;
  const ParquetRowReader rows(file, std::make_shared<ParquetPageCache>(int64_t{1} << 20));
  for (const int64_t position : {int64_t{0}, file->num_rows() / 2, file->num_rows() - 1}) {
    const auto row = rows.ReadRows(fields, std::span(&position, 1), nullptr);
    if (!row) {
      ExpectNamed(row.error());
      outcome = Outcome::kNotRead;
    } else {
      EXPECT_EQ((*row)->num_rows(), 1);
      EXPECT_TRUE((*row)->Validate().ok());
    }
  }
  const auto batches = file->Read(fields);
  if (!batches) {
    ExpectNamed(batches.error());
    return Outcome::kNotRead;
  }
  while (true) {
    const auto batch = (*batches)->Next();
    if (!batch) {
      ExpectNamed(batch.error());
      return Outcome::kNotRead;
    }
    if (!*batch) return outcome;
    EXPECT_TRUE((*batch)->rows->Validate().ok());
  }
}

Outcome Read(const Bytes& bytes) {
  io::MemoryFileIO io;
  io.Overwrite(kPath, bytes);
  const auto open = [&](ParquetReadOptions options) {
    return ParquetReader::Open(*io.Open(kPath), std::move(options));
  };
  auto file = open({});
  if (!file) {
    ExpectNamed(file.error());
    return Outcome::kNotOpened;
  }
  auto fields = (*file)->FileFields();
  if (!fields || (*file)->num_rows() <= 0) return Outcome::kNotOpened;
  if (!(*file)->has_field_ids()) {
    ParquetReadOptions options;
    for (size_t i = 0; i < fields->size(); ++i) {
      (*fields)[i].id = spec::FieldId(static_cast<int32_t>(i) + 1);
      options.name_mapping[(*fields)[i].name] = (*fields)[i].id;
    }
    file = open(options);
    if (!file) return Outcome::kNotOpened;
  }
  return ReadRows(*file, *fields);
}

TEST(ParquetMalformed, DamagedFilesEndInRowsOrAnErrorThatNamesThem) {
  constexpr uint64_t kSeed = 20261130;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  Random random(kSeed);
  std::map<Outcome, int> outcomes;
  for (const std::string& path : test::GoldenFiles("iceberg-spec/parquet-encodings")) {
    if (!path.ends_with(".parquet")) continue;
    const Bytes whole = test::GoldenBytes(path);
    EXPECT_EQ(Read(whole), Outcome::kRead) << path;
    for (int i = 0; i < kDamagesPerFile; ++i) {
      SCOPED_TRACE(fmt::format("{}, damage {}", path, i));
      ++outcomes[Read(Damaged(whole, random))];
    }
  }
  for (const Outcome outcome : {Outcome::kNotOpened, Outcome::kNotRead, Outcome::kRead})
    EXPECT_GT(outcomes[outcome], 50);
}

TEST(ParquetMalformed, FilesCutOffAnywhereEndInAnError) {
  for (const std::string& path : test::GoldenFiles("iceberg-spec/parquet-encodings/PLAIN")) {
    if (!path.ends_with(".parquet")) continue;
    const Bytes whole = test::GoldenBytes(path);
    for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 50) {
      EXPECT_EQ(Read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}), Outcome::kNotOpened)
          << path << " " << size;
    }
  }
}

}  // namespace
}  // namespace frazil::format

#include "frazil/index/run_footer.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "frazil/index/run_filter.h"
#include "frazil/index/run_page.h"

namespace frazil::index {
namespace {

constexpr uint64_t kMagic = 0x32'4e'55'52'4c'49'5a'46;         // "FZILRUN2"
constexpr uint64_t kEarlierMagic = 0x31'4e'55'52'4c'49'5a'46;  // "FZILRUN1"
// Flags. A run with others than these was written by a later version.
constexpr uint16_t kHasRowIds = 1;
constexpr uint16_t kHasFilter = 2;
constexpr uint16_t kIsWide = 4;
constexpr uint16_t kAllFlags = kHasRowIds | kHasFilter | kIsWide;

int64_t RoundedUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

uint64_t ChecksumOfPage(const std::byte* page, int64_t number) {
  return XXH3_64bits_withSeed(page, RunPage::kChecksumOffset, static_cast<uint64_t>(number));
}

uint64_t AddPageChecksum(uint64_t pages_checksum, uint64_t page_checksum) {
  return XXH3_64bits_withSeed(&page_checksum, sizeof(page_checksum), pages_checksum);
}

uint64_t ChecksumOfBytes(ByteView bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

int64_t RunFooter::num_filter_pages() const {
  if (filter_factor == 0) return 0;
  const RunFilter filter{.first = smallest.high, .factor = filter_factor};
  return static_cast<int64_t>(filter.BlockOf(largest.high) / RunFilter::kBlocksPerPage) + 1;
}
size_t RunFooter::fences_offset() const {
  return static_cast<size_t>(num_pages + num_filter_pages()) * RunPage::kBytes;
}
size_t RunFooter::file_numbers_offset() const {
  return fences_offset() + static_cast<size_t>(num_pages) * sizeof(uint64_t);
}
size_t RunFooter::footer_offset() const {
  return file_numbers_offset() + static_cast<size_t>(RoundedUp(num_file_numbers * 4, 8));
}

void RunFooter::AppendTo(Bytes& out) const {
  const size_t begin = out.size();
  AppendLittle(out, kMagic);
  AppendLittle(out, static_cast<uint16_t>((layout.has_row_ids ? kHasRowIds : 0) |
                                          (filter_factor != 0 ? kHasFilter : 0) | (layout.is_wide ? kIsWide : 0)));
  AppendLittle(out, static_cast<uint16_t>(layout.rest_bytes));
  AppendLittle(out, uint32_t{RunPage::kBytes});
  AppendLittle(out, num_entries);
  AppendLittle(out, num_pages);
  AppendLittle(out, num_file_numbers);
  AppendLittle(out, smallest.high);
  AppendLittle(out, largest.high);
  AppendLittle(out, smallest.low);
  AppendLittle(out, largest.low);
  AppendLittle(out, pages_checksum);
  AppendLittle(out, sections_checksum);
  AppendLittle(out, filter_factor);
  AppendLittle(out, ChecksumOfBytes(ByteView(out).subspan(begin)));
}

Result<RunFooter> RunFooter::Decode(ByteView bytes, int64_t run_size, const std::string& path) {
  const auto fail = [&](const char* why) {
    return Fail(ErrorCode::kCorruptData, "index run is damaged: {}: {}", why, path);
  };
  if (bytes.size() < kBytes) return fail("it is too short for a footer");
  const std::byte* from = bytes.data();
  const auto magic = LoadLittle<uint64_t>(from);
  // That footer had 8 bytes less.
  if (LoadLittle<uint64_t>(from + 8) == kEarlierMagic) {
    return Fail(ErrorCode::kCorruptData, "index run has the layout of an earlier version: {}", path);
  }
  if (magic != kMagic) return fail("its end is not a footer");
  if (LoadLittle<uint64_t>(from + kBytes - 8) != ChecksumOfBytes({from, kBytes - 8})) {
    return fail("its footer does not match its checksum");
  }
  const auto flags = LoadLittle<uint16_t>(from + 8);
  const int rest_bytes = LoadLittle<uint16_t>(from + 10);
  if (flags > kAllFlags || rest_bytes < 4 || rest_bytes > 6 || LoadLittle<uint32_t>(from + 12) != RunPage::kBytes) {
    return fail("its layout is unknown");
  }

  RunFooter footer;
  footer.layout = {
      .has_row_ids = (flags & kHasRowIds) != 0, .is_wide = (flags & kIsWide) != 0, .rest_bytes = rest_bytes};
  footer.num_entries = LoadLittle<int64_t>(from + 16);
  footer.num_pages = LoadLittle<int64_t>(from + 24);
  footer.num_file_numbers = LoadLittle<int64_t>(from + 32);
  footer.smallest = {.high = LoadLittle<uint64_t>(from + 40), .low = LoadLittle<uint32_t>(from + 56)};
  footer.largest = {.high = LoadLittle<uint64_t>(from + 48), .low = LoadLittle<uint32_t>(from + 60)};
  footer.pages_checksum = LoadLittle<uint64_t>(from + 64);
  footer.sections_checksum = LoadLittle<uint64_t>(from + 72);
  footer.filter_factor = LoadLittle<uint64_t>(from + 80);
  if ((footer.filter_factor != 0) != ((flags & kHasFilter) != 0)) return fail("its layout is unknown");
  if (footer.largest < footer.smallest) return fail("its smallest hash is above its largest");
  // The bounds keep the sizes computed from the counts far from overflow.
  if (footer.num_filter_pages() > run_size || footer.num_entries < 1 || footer.num_entries > run_size ||
      footer.num_pages < 1 || footer.num_pages > footer.num_entries ||
      footer.num_entries > footer.num_pages * footer.layout.entries_per_page() || footer.num_file_numbers < 1 ||
      footer.num_file_numbers > footer.num_entries ||
      footer.footer_offset() + kBytes != static_cast<size_t>(run_size)) {
    return fail("its size is not what its footer says");
  }
  return footer;
}

uint64_t RunFooter::Checksum() const {
  Bytes bytes;
  AppendTo(bytes);
  return ChecksumOfBytes(bytes);
}

}  // namespace frazil::index

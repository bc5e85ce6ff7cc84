#include "frazil/index/run.h"

#include <algorithm>
#include <array>

namespace frazil::index {
namespace {

// Pages that a cursor reads at a time: the system's read-ahead and one call a quarter MiB, little memory in a wide merge.
constexpr int64_t kPagesAtATime = 64;

}  // namespace

Run::Run(Mapping mapping, Bytes owned, std::string path)
    : path_(std::move(path)), mapping_(std::move(mapping)), owned_(std::move(owned)) {
  bytes_ = owned_.empty() ? ByteView(mapping_.data(), mapping_.size()) : ByteView(owned_);
}

Result<std::shared_ptr<const Run>> Run::Open(const std::string& path) {
  FRAZIL_ASSIGN(Mapping mapping, Mapping::OfFile(path));
  return FromMapping(std::move(mapping), path);
}

Result<std::shared_ptr<const Run>> Run::FromMapping(Mapping mapping, std::string name) {
  const std::shared_ptr<Run> run(new Run(std::move(mapping), {}, std::move(name)));
  FRAZIL_TRY(run->Init());
  return run;
}

Result<std::shared_ptr<const Run>> Run::FromBytes(Bytes bytes, std::string name) {
  const std::shared_ptr<Run> run(new Run({}, std::move(bytes), std::move(name)));
  FRAZIL_TRY(run->Init());
  return run;
}

Status Run::Init() {
  const auto fail = [&](const char* why) {
    return Fail(ErrorCode::kCorruptData, "index run is damaged: {}: {}", why, path_);
  };
  FRAZIL_ASSIGN(const ByteView footer, ReadTail(bytes_.size() - std::min(bytes_.size(), RunFooter::kBytes)));
  FRAZIL_ASSIGN(footer_, RunFooter::Decode(footer, size_bytes(), path_));
  FRAZIL_ASSIGN(const ByteView tail, ReadTail(footer_.fences_offset()));
  const ByteView sections = tail.first(tail.size() - RunFooter::kBytes);
  if (ChecksumOfBytes(sections) != footer_.sections_checksum) return fail("its fences do not match their checksum");
  // The bytes begin at a page or an allocation of the heap and pages are whole: fences are aligned.
  fences_ = {reinterpret_cast<const uint64_t*>(sections.data()), static_cast<size_t>(footer_.num_pages)};
  if (!std::is_sorted(fences_.begin(), fences_.end()) || fences_.front() != footer_.smallest.high ||
      fences_.back() > footer_.largest.high) {
    return fail("its fences are out of order");
  }
  file_numbers_.resize(static_cast<size_t>(footer_.num_file_numbers));
  const std::byte* numbers = sections.data() + fences_.size_bytes();
  std::memcpy(file_numbers_.data(), numbers, file_numbers_.size() * sizeof(FileNumber));
  if (std::adjacent_find(file_numbers_.begin(), file_numbers_.end(), std::greater_equal<>()) != file_numbers_.end()) {
    return fail("its file numbers are out of order");
  }
  checked_ = std::vector<std::atomic<uint64_t>>(static_cast<size_t>(num_all_pages() + 63) / 64);
  return {};
}

// The bytes from `offset` to the end; of a file a copy.
Result<ByteView> Run::ReadTail(size_t offset) {
  if (!mapping_.is_file()) return bytes_.subspan(offset);
  FRAZIL_ASSIGN(sections_, Mapping::Anonymous(bytes_.size() - offset));
  const std::span<std::byte> copy(sections_.data(), sections_.size());
  FRAZIL_TRY(mapping_.Read(offset, copy, path_));
  return copy;
}

int64_t Run::memory_bytes() const {
  const size_t bytes = in_memory() ? bytes_.size() : sections_.size();
  return static_cast<int64_t>(bytes + file_numbers_.size() * sizeof(FileNumber) + checked_.size() * sizeof(uint64_t));
}

Status Run::CheckCopy(int64_t page, const std::byte* copy) const {
  const auto fail = [&](const char* why) {
    return Fail(ErrorCode::kCorruptData, "index run is damaged: page {} {}: {}", page, why, path_);
  };
  if (LoadLittle<uint64_t>(copy + RunPage::kChecksumOffset) != ChecksumOfPage(copy, page)) {
    return fail("does not match its checksum");
  }
  if (page >= num_pages()) return {};
  // What checks was written by us; the order is looked at nevertheless, because a search in a page without it finds
  // nothing and says nothing.
  const bool is_in_order = WithLayout(layout(), [&]<RunLayout kLayout>() { return IsInOrder<kLayout>(copy, page); });
  if (!is_in_order) return fail("is out of order");
  return {};
}

template <RunLayout kLayout>
bool Run::IsInOrder(const std::byte* copy, int64_t page) const {
  using Slot = RunSlot<kLayout>;
  const RunPageRange range = RangeOf(page);
  const size_t count = Slot::CountEntries(copy);
  uint64_t previous = range.fence;
  bool is_ascending = count > 0 && Slot::HashAt(copy, 0, range).high == range.fence;
  for (size_t slot = 0; slot < count; ++slot) {
    const uint64_t high = Slot::HashAt(copy, slot, range).high;
    is_ascending &= previous <= high;
    previous = high;
  }
  return is_ascending && previous - range.fence <= range.width;
}

Status Run::CheckNow(int64_t page) const {
  // A copy made by the system, not the mapping: what the disk cannot read, or the file lost, is an error, not a signal.
  std::array<std::byte, RunPage::kBytes> copy;
  const std::byte* bytes = PageAt(page);
  if (mapping_.is_file()) {
    FRAZIL_TRY(mapping_.Read(static_cast<size_t>(page) * RunPage::kBytes, copy, path_));
    bytes = copy.data();
  }
  FRAZIL_TRY(CheckCopy(page, bytes));
  const uint64_t bit = uint64_t{1} << (page % 64);
  const uint64_t before = checked_[static_cast<size_t>(page / 64)].fetch_or(bit, std::memory_order_relaxed);
  if ((before & bit) == 0) num_checked_.fetch_add(1, std::memory_order_relaxed);
  return {};
}

Status Run::ReadPages(int64_t first_page, std::span<std::byte> out) const {
  const size_t offset = static_cast<size_t>(first_page) * RunPage::kBytes;
  if (mapping_.is_file()) {
    FRAZIL_TRY(mapping_.Read(offset, out, path_));
  } else {
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }
  for (size_t begin = 0; begin < out.size(); begin += RunPage::kBytes) {
    FRAZIL_TRY(CheckCopy(first_page + static_cast<int64_t>(begin / RunPage::kBytes), out.data() + begin));
  }
  return {};
}

Status Run::Verify() const {
  Bytes chunk(static_cast<size_t>(std::min(kPagesAtATime, num_all_pages())) * RunPage::kBytes);
  uint64_t checksum = 0;
  for (int64_t page = 0; page < num_all_pages();) {
    const int64_t count = std::min(kPagesAtATime, num_all_pages() - page);
    const std::span<std::byte> out = std::span(chunk).first(static_cast<size_t>(count) * RunPage::kBytes);
    FRAZIL_TRY(ReadPages(page, out));
    for (int64_t i = 0; i < count; ++i, ++page) {
      checksum = AddPageChecksum(checksum, LoadLittle<uint64_t>(out.data() + static_cast<size_t>(i) * RunPage::kBytes +
                                                                RunPage::kChecksumOffset));
    }
  }
  if (checksum != footer_.pages_checksum) {
    return Fail(ErrorCode::kCorruptData, "index run is damaged: its pages are not those of its footer: {}", path_);
  }
  return {};
}

Result<std::span<const Entry>> Run::Cursor::NextPage() {
  if (slot_ < entries_.size()) return std::span<const Entry>(entries_).subspan(std::exchange(slot_, entries_.size()));
  if (page_ == run_.num_pages()) return std::span<const Entry>();
  const std::byte* from;
  if (run_.in_memory()) {
    FRAZIL_TRY(run_.Check(page_));
    from = run_.PageAt(page_);
  } else {
    if (page_ == chunk_end_) {
      const int64_t count = std::min(kPagesAtATime, run_.num_pages() - page_);
      chunk_.resize(static_cast<size_t>(count) * RunPage::kBytes);
      FRAZIL_TRY(run_.ReadPages(page_, chunk_));
      chunk_page_ = page_;
      chunk_end_ = page_ + count;
    }
    from = chunk_.data() + static_cast<size_t>(page_ - chunk_page_) * RunPage::kBytes;
  }
  WithLayout(run_.layout(), [&]<RunLayout kLayout>() { Decode<kLayout>(from); });
  slot_ = entries_.size();
  ++page_;
  return std::span<const Entry>(entries_);
}

template <RunLayout kLayout>
void Run::Cursor::Decode(const std::byte* page) {
  const RunPageRange range = run_.RangeOf(page_);
  entries_.resize(RunSlot<kLayout>::CountEntries(page));
  for (size_t slot = 0; slot < entries_.size(); ++slot) RunSlot<kLayout>::Read(page, slot, range, entries_[slot]);
}

Result<bool> Run::Cursor::Next(Entry& entry) {
  if (slot_ == entries_.size()) {
    FRAZIL_ASSIGN(const auto entries, NextPage());
    if (entries.empty()) return false;
    slot_ = 0;
  }
  entry = entries_[slot_++];
  return true;
}

}  // namespace frazil::index

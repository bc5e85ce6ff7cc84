#include "frazil/index/run_writer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "frazil/index/file_number_set.h"
#include "frazil/index/run_filter.h"

namespace frazil::index {
namespace {

// Where the bytes of a run go.
class RunSink {
 public:
  virtual ~RunSink() = default;
  virtual Status Append(ByteView bytes) = 0;
  virtual Result<std::shared_ptr<const Run>> Finish() = 0;
};

class FileSink : public RunSink {
 public:
  FileSink(std::unique_ptr<io::OutputFile> file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Status Append(ByteView bytes) override { return file_->Append(bytes); }
  Result<std::shared_ptr<const Run>> Finish() override {
    FRAZIL_TRY(file_->Close());
    return Run::Open(path_);
  }

 private:
  std::unique_ptr<io::OutputFile> file_;
  std::string path_;
};

class MemorySink : public RunSink {
 public:
  explicit MemorySink(std::string name) : name_(std::move(name)) {}

  Status Append(ByteView bytes) override {
    if (size_ + bytes.size() > mapping_.size()) FRAZIL_TRY(Grow(size_ + bytes.size()));
    std::memcpy(mapping_.data() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
    return {};
  }
  Result<std::shared_ptr<const Run>> Finish() override {
    FRAZIL_TRY(mapping_.Resize(size_));
    return Run::FromMapping(std::move(mapping_), name_);
  }

 private:
  Status Grow(size_t needed) {
    // Memory that is not touched costs nothing.
    const size_t size = std::max({needed, mapping_.size() * 2, size_t{1} << 16});
    if (mapping_.size() > 0) return mapping_.Resize(size);
    FRAZIL_ASSIGN(mapping_, Mapping::Anonymous(size));
    return {};
  }

  std::string name_;
  Mapping mapping_;
  size_t size_ = 0;
};

bool IsBelow(const Entry& a, const Entry& b) {
  return std::tie(a.hash, a.file, a.position) < std::tie(b.hash, b.file, b.position);
}

}  // namespace

class RunWriter::Impl {
  static constexpr size_t kMaxWaiting = 1024;

 public:
  Impl(std::unique_ptr<RunSink> sink, RunLayout layout) : sink_(std::move(sink)) {
    footer_.layout = layout;
    waiting_.reserve(kMaxWaiting);
  }

  void AddFilter(int64_t max_entries, uint64_t smallest, uint64_t largest) {
    filter_.emplace(max_entries, smallest, largest);
  }

  Status Add(std::span<const Entry> entries) {
    for (const Entry& entry : entries) {
      if (entry.hash.high <= last_.hash.high && footer_.num_entries > 0) [[unlikely]] {
        if (IsBelow(entry, last_)) return Fail(ErrorCode::kInternal, "entries of an index run are out of order");
        if (!IsBelow(last_, entry)) continue;
      }
      if (!footer_.layout.Holds(entry)) [[unlikely]] {
        return Fail(ErrorCode::kInternal, "an index run has no room for file number {}, position {} with row id {}",
                    entry.file, entry.position, entry.row_id);
      }
      if (waiting_.size() == kMaxWaiting) FRAZIL_TRY(WritePages(false));
      if (footer_.num_entries == 0) footer_.smallest = entry.hash;
      waiting_.push_back(entry);
      if (filter_) filter_->Add(entry.hash);
      ++footer_.num_entries;
      file_numbers_.Add(entry.file);
      last_ = entry;
    }
    return {};
  }

  int64_t num_entries() const { return footer_.num_entries; }

  Result<std::shared_ptr<const Run>> Finish() {
    if (num_entries() == 0) return nullptr;
    footer_.largest = last_.hash;
    FRAZIL_TRY(WritePages(true));
    footer_.num_pages = static_cast<int64_t>(fences_.size());
    if (filter_) FRAZIL_TRY(WriteFilter());
    const std::vector<FileNumber> numbers = file_numbers_.Sorted();
    footer_.num_file_numbers = static_cast<int64_t>(numbers.size());

    Bytes tail;
    AppendBytes(tail, std::as_bytes(std::span(fences_)));
    AppendBytes(tail, std::as_bytes(std::span(numbers)));
    if (numbers.size() % 2 != 0) AppendLittle(tail, uint32_t{0});
    footer_.sections_checksum = ChecksumOfBytes(tail);
    footer_.AppendTo(tail);
    FRAZIL_TRY(sink_->Append(tail));
    return sink_->Finish();
  }

 private:
  /// Of the entries that wait. The last ones go on waiting unless they are the run's: where a page is cut depends on the
  /// fence of the next.
  Status WritePages(bool is_end) {
    // The first ones tell how dense the others are.
    if (fences_.empty()) footer_.layout = footer_.layout.WithRestFor(waiting_);
    return WithLayout(footer_.layout, [&]<RunLayout kLayout>() { return WritePagesOf<kLayout>(is_end); });
  }

  template <RunLayout kLayout>
  Status WritePagesOf(bool is_end) {
    constexpr auto kPerPage = static_cast<size_t>(kLayout.entries_per_page());
    static_assert(kPerPage < kMaxWaiting);
    std::span<const Entry> rest(waiting_);
    while (!rest.empty()) {
      const uint64_t fence = rest.front().hash.high;
      std::span<const Entry> page = rest.first(std::min(rest.size(), kPerPage));
      const auto is_within = [&](const Entry& entry) { return entry.hash.high - fence <= kLayout.max_distance(); };
      if (!is_within(page.back())) [[unlikely]] {
        page = {page.begin(), std::partition_point(page.begin(), page.end(), is_within)};
      }
      if (page.size() == rest.size() && !is_end) break;
      rest = rest.subspan(page.size());
      fences_.push_back(fence);
      FRAZIL_TRY(WritePageOf<kLayout>(page, rest.empty() ? last_.hash.high : rest.front().hash.high));
    }
    waiting_.erase(waiting_.begin(), waiting_.end() - static_cast<std::ptrdiff_t>(rest.size()));
    return {};
  }

  template <RunLayout kLayout>
  Status WritePageOf(std::span<const Entry> entries, uint64_t next_fence) {
    const RunPageRange range(entries.front().hash.high, next_fence, kLayout.max_distance());
    page_.fill(std::byte{0xff});  // slots that stay unused
    for (size_t slot = 0; slot < entries.size(); ++slot) {
      RunSlot<kLayout>::Write(page_.data(), slot, range, entries[slot]);
    }
    return WritePage();
  }

  Status WriteFilter() {
    const RunFilterBuilder::Built filter = filter_->Finish();
    footer_.filter_factor = filter.factor;
    constexpr size_t kBytesOfPage = RunFilter::kBlocksPerPage * RunFilter::kBlockBytes;
    for (ByteView rest = std::as_bytes(std::span(filter.words)); !rest.empty();) {
      const ByteView blocks = rest.first(std::min(rest.size(), kBytesOfPage));
      page_ = {};
      std::copy(blocks.begin(), blocks.end(), page_.begin());
      FRAZIL_TRY(WritePage());
      rest = rest.subspan(blocks.size());
    }
    return {};
  }

  Status WritePage() {
    const uint64_t checksum = ChecksumOfPage(page_.data(), num_pages_++);
    std::memcpy(page_.data() + RunPage::kChecksumOffset, &checksum, sizeof(checksum));
    footer_.pages_checksum = AddPageChecksum(footer_.pages_checksum, checksum);
    return sink_->Append(page_);
  }

  std::unique_ptr<RunSink> sink_;
  RunFooter footer_;
  std::array<std::byte, RunPage::kBytes> page_;
  std::vector<Entry> waiting_;  // for their page, in order
  Entry last_;
  int64_t num_pages_ = 0;  // those of the filter too
  std::vector<uint64_t> fences_;
  FileNumberSet file_numbers_;
  std::optional<RunFilterBuilder> filter_;
};

RunWriter::RunWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RunWriter::~RunWriter() = default;

Result<std::unique_ptr<RunWriter>> RunWriter::ToFile(io::FileIO& local, const std::string& path, RunLayout layout) {
  FRAZIL_ASSIGN(std::unique_ptr<io::OutputFile> file, local.Create(path));
  auto impl = std::make_unique<Impl>(std::make_unique<FileSink>(std::move(file), path), layout);
  return std::unique_ptr<RunWriter>(new RunWriter(std::move(impl)));
}

std::unique_ptr<RunWriter> RunWriter::ToMemory(std::string name, RunLayout layout) {
  auto impl = std::make_unique<Impl>(std::make_unique<MemorySink>(std::move(name)), layout);
  return std::unique_ptr<RunWriter>(new RunWriter(std::move(impl)));
}

void RunWriter::AddFilter(int64_t max_entries, uint64_t smallest, uint64_t largest) {
  impl_->AddFilter(max_entries, smallest, largest);
}
Status RunWriter::Add(std::span<const Entry> entries) { return impl_->Add(entries); }
int64_t RunWriter::num_entries() const { return impl_->num_entries(); }
Result<std::shared_ptr<const Run>> RunWriter::Finish() { return impl_->Finish(); }

}  // namespace frazil::index

#include "frazil/ingest/file_source.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frazil/base/hash.h"
#include "frazil/base/number_text.h"

namespace frazil::ingest {
namespace {

constexpr int64_t kHeadBytes = int64_t{1} << 20;
constexpr size_t kMaxLineBytes = size_t{64} << 20;
constexpr size_t kReadBytes = size_t{1} << 20;

std::string HashText(ByteView bytes) {
  const Hash96 hash = HashKey(bytes, 0);
  return fmt::format("{:016x}{:08x}", hash.high, hash.low);
}

Result<std::string> ReadHead(int descriptor, const std::string& path, int64_t length) {
  std::string head(static_cast<size_t>(length), '\0');
  size_t filled = 0;
  while (filled < head.size()) {
    const ssize_t n = pread(descriptor, head.data() + filled, head.size() - filled, static_cast<off_t>(filled));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Fail(ErrorCode::kIo, "cannot read: {}: {}", std::strerror(errno), path);
    if (n == 0) break;
    filled += static_cast<size_t>(n);
  }
  head.resize(filled);
  return head;
}

}  // namespace

FileSource::~FileSource() {
  if (descriptor_ > STDIN_FILENO) close(descriptor_);
}

Result<std::unique_ptr<FileSource>> FileSource::Open(const std::string& path) {
  std::unique_ptr<FileSource> source(new FileSource());
  if (path == "-") {
    source->path_ = "standard input";
    source->id_ = "stdin";
    source->identity_ = {{"kind", "stdin"}};
    source->descriptor_ = STDIN_FILENO;
    return source;
  }
  std::error_code error;
  source->path_ = std::filesystem::weakly_canonical(path, error).string();
  if (error) source->path_ = path;
  source->id_ = "file:" + source->path_;
  source->descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (source->descriptor_ < 0) {
    return Fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, "cannot open input file: {}: {}",
                std::strerror(errno), path);
  }
  struct stat info {};
  if (fstat(source->descriptor_, &info) != 0 || S_ISDIR(info.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, "the input is not a file: {}", path);
  }
  source->identity_ = {{"kind", "file"}, {"path", source->path_}};
  if (S_ISREG(info.st_mode)) {
    source->size_bytes_ = info.st_size;
    FRAZIL_ASSIGN(const std::string head,
                  ReadHead(source->descriptor_, path, std::min<int64_t>(kHeadBytes, info.st_size)));
    source->identity_["head-bytes"] = std::to_string(head.size());
    source->identity_["head-hash"] = HashText(AsBytes(head));
  }
  return source;
}

Status FileSource::CheckSame(const std::map<std::string, std::string>& recorded) const {
  const auto head_bytes = recorded.find("head-bytes");
  const auto head_hash = recorded.find("head-hash");
  if (!size_bytes_ || head_bytes == recorded.end() || head_hash == recorded.end()) return {};
  const int64_t length = ReadNumber<int64_t>(head_bytes->second).value_or(-1);
  if (length >= 0 && length <= kHeadBytes && length <= *size_bytes_) {
    FRAZIL_ASSIGN(const std::string head, ReadHead(descriptor_, path_, length));
    if (HashText(AsBytes(head)) == head_hash->second) return {};
  }
  return tl::unexpected(
      Error(ErrorCode::kInvalidArgument, "the input file is not the one that was ingested before: " + path_)
          .WithHint("its first bytes changed; give the new data another file name"));
}

Status FileSource::WaitForBytes() const {
  // Polled in slices: a signal may arrive just before the call, and would not interrupt it then.
  constexpr int kSliceMs = 100;
  for (;;) {
    if (stop_ != nullptr && stop_->load()) return Fail(ErrorCode::kShuttingDown, "stopped while waiting for {}", path_);
    pollfd descriptor{descriptor_, POLLIN, 0};
    const int ready = poll(&descriptor, 1, kSliceMs);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR)
      return Fail(ErrorCode::kIo, "cannot wait for: {}: {}", std::strerror(errno), path_);
  }
}

Status FileSource::Fill() {
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  if (!size_bytes_) FRAZIL_TRY(WaitForBytes());
  const size_t old_size = buffer_.size();
  buffer_.resize(old_size + kReadBytes);
  ssize_t n;
  do {
    n = read(descriptor_, buffer_.data() + old_size, kReadBytes);
  } while (n < 0 && errno == EINTR);
  buffer_.resize(old_size + static_cast<size_t>(n < 0 ? 0 : n));
  if (n < 0) return Fail(ErrorCode::kIo, "cannot read: {}: {}", std::strerror(errno), path_);
  at_end_ = n == 0;
  return {};
}

Result<std::optional<std::string_view>> FileSource::Next() {
  size_t scanned = 0;
  for (;;) {
    const void* newline = std::memchr(buffer_.data() + begin_ + scanned, '\n', buffer_.size() - begin_ - scanned);
    if (newline != nullptr) {
      const size_t end = static_cast<size_t>(static_cast<const char*>(newline) - buffer_.data());
      const std::string_view line(buffer_.data() + begin_, end - begin_);
      bytes_read_ += static_cast<int64_t>(line.size()) + 1;
      begin_ = end + 1;
      ++next_ordinal_;
      return line;
    }
    scanned = buffer_.size() - begin_;
    if (scanned > kMaxLineBytes) {
      return Fail(ErrorCode::kInvalidArgument, "record {} is longer than 64 MiB: {}", next_ordinal_, path_);
    }
    if (at_end_) {
      if (scanned == 0) return std::nullopt;
      const std::string_view line(buffer_.data() + begin_, scanned);
      bytes_read_ += static_cast<int64_t>(scanned);
      begin_ = buffer_.size();
      ++next_ordinal_;
      return line;
    }
    FRAZIL_TRY(Fill());
  }
}

Status FileSource::SkipTo(int64_t ordinal) {
  while (next_ordinal_ < ordinal) {
    FRAZIL_ASSIGN(const std::optional<std::string_view> line, Next());
    if (!line) {
      return tl::unexpected(Error(ErrorCode::kInvalidArgument,
                                  fmt::format("the input ends at record {}, but {} records are in the table: {}",
                                              next_ordinal_, ordinal, path_))
                                .WithHint("the file was cut or exchanged"));
    }
  }
  return {};
}

}  // namespace frazil::ingest

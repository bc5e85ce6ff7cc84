#include "frazil/maintain/file_set.h"

#include <algorithm>
#include <filesystem>

namespace frazil::maintain {
namespace {

constexpr char kWhat[] = "what is live of a table";
/// Others need memory too.
constexpr int64_t kShareOfLimit = 8;
constexpr size_t kLeastPlaces = 4096;
/// A lookup asks each of them.
constexpr size_t kMostRuns = 16;

int64_t BytesOf(size_t count) { return static_cast<int64_t>(count * sizeof(KnownPlace)); }

}  // namespace

FileSet::Root FileSet::ResolvedRoot(const FilePlace& place) const {
  return {schemes_.Resolve(place.scheme), authorities_.Resolve(place.authority)};
}

Status FileSet::Add(const std::string& path) {
  FilePlace place = PlaceOf(path);
  FRAZIL_TRY(AddPlace(place));
  if (!HasDots(place)) return {};
  place.path = std::filesystem::path(place.path).lexically_normal().string();  // as a listing tells it
  return AddPlace(place);
}

Status FileSet::AddPlace(const FilePlace& place) {
  const Root root = ResolvedRoot(place);
  if (recent_.size() == recent_.capacity()) FRAZIL_TRY(MakeRoom());
  const auto known = std::find(roots_.begin(), roots_.end(), root);
  const auto index = static_cast<uint32_t>(known - roots_.begin());
  if (known == roots_.end()) roots_.push_back(root);
  recent_.push_back({.hash = PlaceHash(place), .root = index, .unused = 0});
  is_sorted_ = false;
  return {};
}

/// For one more place at least.
Status FileSet::MakeRoom() {
  Settle();
  if (recent_.size() < recent_.capacity() / 2) return {};  // what was there twice
  const size_t wish = std::max(kLeastPlaces, recent_.capacity() * 2);
  if (room_.budget == nullptr) {
    recent_.reserve(wish);
    return {};
  }
  if (recent_.capacity() == 0) {
    FRAZIL_ASSIGN(recent_room_, room_.budget->Reserve(BytesOf(wish), kWhat));
    recent_.reserve(wish);
    return {};
  }
  // While it grows, both are there.
  const bool may_grow = BytesOf(wish) <= room_.budget->limit_bytes() / kShareOfLimit;
  if (!may_grow || !recent_room_.Resize(BytesOf(wish + recent_.capacity()))) return Spill();
  recent_.reserve(wish);
  return recent_room_.Resize(BytesOf(wish));
}

Status FileSet::Spill() {
  const bool merges = runs_.size() + 1 >= kMostRuns;
  FRAZIL_ASSIGN(PlaceRun run, PlaceRun::Write(room_.temp_directory, [&](const PlaceRun::Take& take) {
                  if (merges) {
                    Unite(take);
                  } else {
                    std::for_each(recent_.begin(), recent_.end(), take);
                  }
                }));
  if (merges) runs_.clear();
  runs_.push_back(std::move(run));
  recent_.clear();
  return {};
}

/// Sorts what was added; each path once.
void FileSet::Settle() const {
  if (is_sorted_) return;
  std::sort(recent_.begin(), recent_.end(), [](const KnownPlace& left, const KnownPlace& right) {
    return left.hash < right.hash || (left.hash == right.hash && left.root < right.root);
  });
  size_t kept = 0;
  for (const KnownPlace& place : recent_) {
    if (kept > 0 && recent_[kept - 1].hash == place.hash) {
      if (recent_[kept - 1].root != place.root) recent_[kept - 1].root = kSeveral;
    } else {
      recent_[kept++] = place;
    }
  }
  recent_.resize(kept);
  is_sorted_ = true;
}

/// Tells all places by ascending hash, each once.
void FileSet::Unite(const std::function<void(const KnownPlace&)>& visit) const {
  Settle();
  std::vector<std::span<const KnownPlace>> left = {recent_};
  for (const PlaceRun& run : runs_) left.push_back(run.places());
  for (;;) {
    std::erase_if(left, [](const auto& places) { return places.empty(); });
    if (left.empty()) return;
    KnownPlace next = left[0].front();
    for (const auto& places : left) {
      if (places.front().hash < next.hash) next = places.front();
    }
    for (auto& places : left) {
      if (places.front().hash != next.hash) continue;
      if (places.front().root != next.root) next.root = kSeveral;
      places = places.subspan(1);
    }
    visit(next);
  }
}

/// None: the path is not known.
std::optional<uint32_t> FileSet::RootIndexOf(uint64_t hash) const {
  Settle();
  std::optional<uint32_t> root;
  const auto look_in = [&](std::span<const KnownPlace> places) {
    const KnownPlace* found = FindPlace(places, hash);
    if (found != nullptr) root = !root || *root == found->root ? found->root : kSeveral;
  };
  look_in(recent_);
  for (const PlaceRun& run : runs_) look_in(run.places());
  return root;
}

FileSet::Match FileSet::Find(const FilePlace& place) const {
  const std::optional<uint32_t> root = RootIndexOf(PlaceHash(place));
  if (!root) return Match::kNone;
  if (*root == kSeveral) return Match::kSame;
  const Root& known = roots_[*root];
  const Root asked = ResolvedRoot(place);
  const auto agrees = [](const std::string& left, const std::string& right) {
    return left.empty() || right.empty() || left == right;
  };
  const bool is_same = agrees(known.scheme, asked.scheme) && agrees(known.authority, asked.authority);
  return is_same ? Match::kSame : Match::kOtherRoot;
}

std::string FileSet::RootOf(const FilePlace& place) const {
  const std::optional<uint32_t> root = RootIndexOf(PlaceHash(place));
  if (!root || *root == kSeveral) return "";
  return roots_[*root].scheme + "://" + roots_[*root].authority;
}

int64_t FileSet::Count() const {
  int64_t count = 0;
  Unite([&](const KnownPlace&) { ++count; });
  return count;
}

}  // namespace frazil::maintain

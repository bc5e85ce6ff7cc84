#include "frazil/catalog/memory_catalog.h"

#include <mutex>

#include "frazil/catalog/pointer_catalog.h"

namespace frazil::catalog {
namespace {

class MemoryRows : public PointerRows {
 public:
  Result<std::optional<PointerEntry>> Find(const TableName& name) override {
    const auto found = tables_.find(name);
    if (found == tables_.end()) return std::nullopt;
    return PointerEntry{found->second, EntryKind::kTable};
  }

  Result<std::vector<TableName>> Tables(const Namespace& levels) override {
    std::vector<TableName> names;
    for (const auto& [name, location] : tables_) {
      if (name.levels == levels) names.push_back(name);
    }
    return names;
  }

  Status Insert(const TableName& name, const std::string& metadata_location) override {
    tables_.emplace(name, metadata_location);
    return {};
  }

  Result<bool> Swap(const TableName& name, const std::string& base, const std::string& next) override {
    const auto found = tables_.find(name);
    if (found == tables_.end() || found->second != base) return false;
    found->second = next;
    return true;
  }

  Result<bool> Remove(const TableName& name) override { return tables_.erase(name) == 1; }

  Result<bool> Rename(const TableName& from, const TableName& to) override {
    auto node = tables_.extract(from);
    if (node.empty()) return false;
    node.key() = to;
    tables_.insert(std::move(node));
    return true;
  }

  Result<std::set<Namespace>> NamespacesFrom(const Namespace& levels) override {
    std::set<Namespace> known;
    auto add = [&](const Namespace& one) {
      if (one.size() >= levels.size() && std::equal(levels.begin(), levels.end(), one.begin())) known.insert(one);
    };
    for (const auto& [one, properties] : properties_) add(one);
    for (const auto& [name, location] : tables_) add(name.levels);
    return known;
  }

  Result<std::map<std::string, std::string>> Properties(const Namespace& levels) override {
    const auto found = properties_.find(levels);
    return found == properties_.end() ? std::map<std::string, std::string>{} : found->second;
  }

  Status SetProperties(const Namespace& levels, const std::map<std::string, std::string>& properties) override {
    for (const auto& [key, value] : properties) properties_[levels][key] = value;
    return {};
  }

  Status RemoveProperties(const Namespace& levels) override {
    properties_.erase(levels);
    return {};
  }

 private:
  std::map<TableName, std::string> tables_;
  std::map<Namespace, std::map<std::string, std::string>> properties_;
};

class MemoryPointerStore : public PointerStore {
 public:
  Status Transact(Access access, const std::function<Status(PointerRows& rows)>& body) override {
    std::lock_guard lock(mutex_);
    MemoryRows rows = rows_;
    FRAZIL_TRY(body(rows));
    if (access == Access::kWrite) rows_ = std::move(rows);
    return {};
  }

 private:
  std::mutex mutex_;
  MemoryRows rows_;
};

}  // namespace

std::unique_ptr<PointerStore> MakeMemoryPointerStore() { return std::make_unique<MemoryPointerStore>(); }

std::shared_ptr<Catalog> MakeMemoryCatalog(std::string name, std::string warehouse, std::shared_ptr<io::FileIO> io,
                                           Clock& clock) {
  return std::make_shared<PointerCatalog>(std::move(name), std::move(warehouse), MakeMemoryPointerStore(),
                                          std::move(io), clock);
}

}  // namespace frazil::catalog

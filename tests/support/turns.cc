#include "tests/support/turns.h"

#include <semaphore>
#include <thread>

namespace frazil::test {

struct Turns::Actor {
  std::string name;
  std::function<void()> work;
  std::binary_semaphore may_run{0};
  std::binary_semaphore has_stopped{0};
  std::string where;
  bool is_done = false;
  std::thread thread;

  void Live() {
    current = this;
    may_run.acquire();
    work();
    where.clear();
    is_done = true;
    has_stopped.release();
  }

  static thread_local Actor* current;
};

thread_local Turns::Actor* Turns::Actor::current = nullptr;

Turns::Turns() = default;
Turns::~Turns() = default;

void Turns::Add(std::string name, std::function<void()> work) {
  auto actor = std::make_unique<Actor>();
  actor->name = std::move(name);
  actor->work = std::move(work);
  actors_.push_back(std::move(actor));
}

void Turns::Run(const std::function<size_t(const std::vector<size_t>& waiting)>& choose,
                const std::function<void(const std::string& actor, const std::string& where)>& after_turn) {
  for (const auto& actor : actors_) actor->thread = std::thread(&Actor::Live, actor.get());
  for (;;) {
    std::vector<size_t> waiting;
    for (size_t i = 0; i < actors_.size(); ++i) {
      if (!actors_[i]->is_done) waiting.push_back(i);
    }
    if (waiting.empty()) break;
    Actor& actor = *actors_[choose(waiting)];
    actor.may_run.release();
    actor.has_stopped.acquire();
    after_turn(actor.name, actor.where);
  }
  for (const auto& actor : actors_) actor->thread.join();
  actors_.clear();
}

void Turns::Yield(const std::string& where) {
  Actor* actor = Actor::current;
  if (actor == nullptr) return;
  actor->where = where;
  actor->has_stopped.release();
  actor->may_run.acquire();
}

}  // namespace frazil::test

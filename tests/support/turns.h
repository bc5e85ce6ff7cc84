#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace frazil::test {

/// Several actors on real code, one at a time: each runs on a thread of its own until it comes to a Yield(), then
/// somebody decides who goes on. The same decisions give the same order of events, whatever the machine does.
///
/// Run() and the decisions belong to one thread; Yield() is called by actors, anywhere below their work.
class Turns {
 public:
  Turns();
  ~Turns();
  Turns(const Turns&) = delete;

  void Add(std::string name, std::function<void()> work);

  /// Runs all actors to their end. `choose` picks one of those that are not at their end, by number; `after_turn` gets
  /// the name of the actor that just stopped and where it stopped (empty: at its end).
  void Run(const std::function<size_t(const std::vector<size_t>& waiting)>& choose,
           const std::function<void(const std::string& actor, const std::string& where)>& after_turn);

  /// Ends the calling actor's turn. Without effect on a thread that is no actor's.
  static void Yield(const std::string& where);

 private:
  struct Actor;
  std::vector<std::unique_ptr<Actor>> actors_;
};

}  // namespace frazil::test

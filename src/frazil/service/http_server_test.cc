#include "frazil/service/http_server.h"

#include <httplib.h>

#include "frazil/base/test_support.h"
#include "frazil/service/control_client.h"
#include "frazil/service/pipeline_set_test_support.h"

namespace frazil::service {
namespace {

using ingest::PipelineState;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

class HttpServerTest : public ::testing::Test {
 protected:
  void Serve(std::vector<PipelineMember> members) {
    set_ = std::make_unique<PipelineSet>(std::move(members), PipelineSet::Options{});
    set_->Start();
    auto server = HttpServer::Start({.is_enabled = true, .host = "127.0.0.1", .port = 0, .token = "secret"}, *set_,
                                    [] { return std::string("metric 1\n"); });
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
  }
  bool Reaches(size_t index, PipelineState state) {
    return Until([&] { return set_->Reports()[index].status.state == state; });
  }
  httplib::Result Get(const std::string& path) { return httplib::Client(server_->url()).Get(path); }

  std::unique_ptr<PipelineSet> set_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, ServesMetricsAndHealth) {
  std::vector<PipelineMember> members;
  members.push_back(Runs("good"));
  Serve(std::move(members));
  ASSERT_TRUE(Reaches(0, PipelineState::kRunning));
  const auto metrics = Get("/metrics");
  ASSERT_TRUE(metrics);
  EXPECT_EQ(metrics->body, "metric 1\n");
  EXPECT_THAT(metrics->get_header_value("Content-Type"), HasSubstr("version=0.0.4"));
  for (const char* path : {"/livez", "/healthz", "/readyz"}) EXPECT_EQ(Get(path)->status, 200) << path;
  EXPECT_EQ(Get("/v2/nothing")->status, 404);
  EXPECT_THAT(Get("/v2/nothing")->body, HasSubstr("no such endpoint"));
}

TEST_F(HttpServerTest, SaysWhichPipelineHasFailed) {
  std::vector<PipelineMember> members;
  members.push_back(Runs("good"));
  members.push_back(Fails("bad"));
  Serve(std::move(members));
  ASSERT_TRUE(Reaches(1, PipelineState::kFailed));
  EXPECT_EQ(Get("/livez")->status, 200);
  EXPECT_EQ(Get("/healthz")->status, 503);
  EXPECT_EQ(Get("/readyz")->status, 503);
  EXPECT_THAT(Get("/readyz")->body, HasSubstr("bad: failed: topic was recreated"));
}

TEST_F(HttpServerTest, IsNotReadyBeforeItIsConnected) {
  std::vector<PipelineMember> members;
  members.push_back(Member("p", []() -> Result<std::unique_ptr<ServedPipeline>> {
    return Fail(ErrorCode::kUnavailable, "broker does not answer");
  }));
  Serve(std::move(members));
  ASSERT_TRUE(Reaches(0, PipelineState::kWaiting));
  EXPECT_EQ(Get("/healthz")->status, 200);
  EXPECT_EQ(Get("/readyz")->status, 503);
  EXPECT_THAT(Get("/readyz")->body, HasSubstr("broker does not answer"));
}

TEST_F(HttpServerTest, IsNotReadyWhileItWaitsThoughItHasCommitted) {
  class Waiting : public FakePipeline {
   public:
    Waiting() : FakePipeline(Status{}) {}
    ingest::PipelineStatus status() const override {
      ingest::PipelineStatus status = FakePipeline::status();
      status.state = PipelineState::kWaiting;
      status.reason = "the broker went away";
      status.last_commit_ms = Clock::System().NowMs();
      return status;
    }
  };
  std::vector<PipelineMember> members;
  members.push_back(Member("p", [] { return std::make_unique<Waiting>(); }));
  Serve(std::move(members));
  ASSERT_TRUE(Reaches(0, PipelineState::kWaiting));
  EXPECT_EQ(Get("/healthz")->status, 200);
  EXPECT_EQ(Get("/readyz")->status, 503);
  EXPECT_THAT(Get("/readyz")->body, HasSubstr("p: waiting: the broker went away"));
}

TEST_F(HttpServerTest, IsCommandedWithTheTokenOnly) {
  std::vector<PipelineMember> members;
  members.push_back(Runs("good"));
  Serve(std::move(members));
  ASSERT_TRUE(Reaches(0, PipelineState::kRunning));
  const ControlClient stranger(server_->url(), "");
  EXPECT_THAT(stranger.Tell("good", "pause"), IsError(ErrorCode::kInvalidArgument, "token"));
  EXPECT_THAT(stranger.Pipelines(), IsOk());  // reads from this machine
  const ControlClient client(server_->url(), "secret");
  ASSERT_THAT(client.Tell("good", "pause"), IsOk());
  EXPECT_THAT(client.Pipelines(), IsOkAnd(ElementsAre(Field(&PipelineRow::state, "paused"))));
  ASSERT_THAT(client.Tell("good", "resume"), IsOk());
  EXPECT_THAT(client.Pipelines(), IsOkAnd(ElementsAre(Field(&PipelineRow::table, "local.db.good"))));
  EXPECT_THAT(client.Tell("other", "drain"), IsError(ErrorCode::kNotFound, "there are: good"));
}

TEST_F(HttpServerTest, AnAddressThatIsTakenIsSaid) {
  Serve({});
  const int port = std::stoi(server_->url().substr(server_->url().rfind(':') + 1));
  EXPECT_THAT(HttpServer::Start({.is_enabled = true, .host = "127.0.0.1", .port = port, .token = ""}, *set_,
                                [] { return std::string(); }),
              IsError(ErrorCode::kUnavailable, "http.listen"));
  const ControlClient nobody("http://127.0.0.1:1", "");
  EXPECT_THAT(nobody.Pipelines(), IsError(ErrorCode::kUnavailable, "no frazil answers"));
}

}  // namespace
}  // namespace frazil::service

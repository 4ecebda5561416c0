#include "comm/rendezvous/tcp_store.h"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "comm/rendezvous/tcp_socket.h"
#include "comm/rendezvous/tcp_store_protocol.h"
#include "gmock/gmock.h"
#include "tests/comm/rendezvous/check_store.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::AnyOf;
using testing::CheckKeepsWhatIsSetFirst;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::Later;
using testing::StatusIs;
using Code = absl::StatusCode;

using Time = std::chrono::steady_clock::time_point;

Time Soon() {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
}

class TcpStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<KeyValueStore> Client(const std::string& run_id = "run") {
    return *OpenTcpStore(server_->address(), run_id);
  }

  Socket Connect() {
    return *ConnectTo(*ParseSocketAddress(server_->address()), Later());
  }

  // What the server answers to raw bytes until it hangs up.
  std::string AnswerTo(const std::string& bytes) {
    const Socket socket = Connect();
    EXPECT_THAT(SendAll(socket, bytes, Later()), IsOk());
    std::string answer;
    char byte = 0;
    while (ReceiveAll(socket, &byte, 1, Later()).ok()) answer += byte;
    return answer;
  }

  std::unique_ptr<TcpStoreServer> server_ =
      *ServeTcpStore("127.0.0.1:0", "run");
};

// Nothing but, maybe, the answer to the greeting.
auto IsDropped() { return AnyOf("", "Y"); }

const std::string kGreeting =
    std::string(tcp_store::kGreeting) + tcp_store::WithLength("run");

TEST_F(TcpStoreTest, KeepsWhatIsSetFirst) {
  const auto a = Client();
  const auto b = Client();
  CheckKeepsWhatIsSetFirst(*a, *b, "key at 127.0.0.1:");
  EXPECT_THAT(a->Set("", "", Later()), IsOk());
  EXPECT_EQ(*b->Get("", Later()), "");
}

TEST_F(TcpStoreTest, WaitsForAKey) {
  std::vector<std::string> values(5);
  {
    std::vector<std::jthread> threads;
    threads.reserve(values.size());
    for (std::string& value : values) {
      threads.emplace_back(
          [&] { value = Client()->Get("late", Later()).value_or("none"); });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_THAT(Client()->Set("late", "7", Later()), IsOk());
  }
  EXPECT_THAT(values, ::testing::Each("7"));
}

TEST_F(TcpStoreTest, AKeyThatIsNotSetInTimeIsNamed) {
  EXPECT_THAT(Client()->Get("never", Soon()),
              StatusIs(Code::kDeadlineExceeded,
                       HasSubstr("never at " + server_->address())));
}

TEST_F(TcpStoreTest, TakesValuesOfAMebibyteAndNoMore) {
  const std::string large(KeyValueStore::kMaxBytes, 'x');
  EXPECT_THAT(Client()->Set(large, large, Later()), IsOk());
  EXPECT_EQ(*Client()->Get(large, Later()), large);
  EXPECT_THAT(Client()->Set("key", large + "x", Later()),
              StatusIs(kInvalid, _));
}

TEST_F(TcpStoreTest, AnotherRunIsNotLetIn) {
  for (const char* run_id : {"", "ru", "runs", "other"}) {
    EXPECT_THAT(Client(run_id)->Set("key", "value", Later()),
                StatusIs(Code::kAborted, AllOf(HasSubstr("another run"),
                                               HasSubstr("127.0.0.1:"))));
  }
  EXPECT_THAT(Client()->Set("key", "value", Later()), IsOk());
}

TEST_F(TcpStoreTest, StrangersAreDropped) {
  const Socket silent = Connect();
  // The server waits until a stranger has hung up, or for ten seconds.
  {
    const Socket stranger = Connect();
    char answer = 0;
    EXPECT_THAT(SendAll(stranger, "GET / HTTP/1.1\r\n\r\n", Later()), IsOk());
    EXPECT_THAT(ReceiveAll(stranger, &answer, 1, Later()), IsOk());
    EXPECT_EQ(answer, tcp_store::kNo);
  }
  EXPECT_THAT(AnswerTo(kGreeting + "?"), IsDropped());
  EXPECT_THAT(Client()->Set("key", "value", Later()), IsOk());
}

TEST_F(TcpStoreTest, AnOversizedLengthIsDroppedBeforeMemoryIsTaken) {
  const std::string largest(4, '\xff');
  const std::string above = {1, 0, 16, 0};  // kMaxBytes + 1
  for (const std::string& length : {largest, above}) {
    for (const std::string& request :
         {std::string("G"), "S" + tcp_store::WithLength("k")}) {
      std::string bytes = kGreeting;
      bytes.append(request).append(length);
      EXPECT_THAT(AnswerTo(bytes), IsDropped());
    }
  }
  EXPECT_THAT(Client()->Get("k", Soon()), StatusIs(Code::kDeadlineExceeded, _));
}

TEST_F(TcpStoreTest, RequestsMayArriveByteByByte) {
  const std::string request = kGreeting + "S" + tcp_store::WithLength("slow") +
                              tcp_store::WithLength("value");
  const Socket socket = Connect();
  for (const char byte : request) {
    EXPECT_THAT(SendAll(socket, std::string(1, byte), Later()), IsOk());
    std::this_thread::yield();
  }
  EXPECT_EQ(*Client()->Get("slow", Later()), "value");
}

TEST_F(TcpStoreTest, AnswersManyAtOnce) {
  std::vector<std::jthread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this, i] {
      const auto client = Client();
      for (int n = 0; n < 20; ++n) {
        const std::string own = std::to_string(i) + "/" + std::to_string(n);
        const std::string next =
            std::to_string((i + 1) % 8) + "/" + std::to_string(n);
        EXPECT_THAT(client->Set(own, own, Later()), IsOk());
        EXPECT_EQ(*client->Get(next, Later()), next);
      }
    });
  }
}

TEST_F(TcpStoreTest, AServerThatEndsIsNoticed) {
  const std::string address = server_->address();
  const auto client = Client();
  absl::Status status;
  {
    const std::jthread waiting(
        [&] { status = client->Get("never", Later()).status(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    server_.reset();
  }
  EXPECT_THAT(status, StatusIs(Code::kUnavailable, HasSubstr(address)));
  EXPECT_THAT(client->Get("key", Soon()),
              StatusIs(Code::kDeadlineExceeded, HasSubstr(address)));
}

TEST_F(TcpStoreTest, AServerOfAnotherProgramIsNoRendezvous) {
  const Socket listener = *ListenAt({.host = "127.0.0.1", .port = "0"});
  const std::string address = "127.0.0.1:" + std::to_string(PortOf(listener));
  EXPECT_THAT((*OpenTcpStore(address, "run"))->Get("key", Soon()),
              StatusIs(Code::kDeadlineExceeded, HasSubstr(address)));
}

TEST_F(TcpStoreTest, AUsedAddressIsNamed) {
  EXPECT_THAT(ServeTcpStore(server_->address(), "run"),
              StatusIs(Code::kUnavailable,
                       HasSubstr("cannot listen at " + server_->address())));
}

TEST(SocketAddressTest, IsHostAndPort) {
  EXPECT_EQ(ParseSocketAddress("localhost:80")->host, "localhost");
  EXPECT_EQ(ParseSocketAddress("localhost:80")->port, "80");
  EXPECT_EQ(ParseSocketAddress("[::1]:80")->host, "::1");
  for (const char* text : {"", "localhost", ":80", "host:", "host:x", "::1:80",
                           "host:65536", "host:-1", "[]:80", "host:111111"}) {
    EXPECT_THAT(ParseSocketAddress(text), StatusIs(kInvalid, HasSubstr(text)));
  }
}

}  // namespace
}  // namespace spillway

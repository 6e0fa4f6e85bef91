// A chat as a user of the hook would write one: what can be done with a message is a button beside it.
import { useStream } from "@langchain/langgraph-sdk/react";
import { useState } from "react";
import { createRoot } from "react-dom/client";

// Who made the page says where the product is and who asks; the address bar holds the thread, so that a reload finds it.
const { url, token } = window.given;
const defaultHeaders = { Authorization: `Bearer ${token}` };

const textOf = (content) => (typeof content === "string" ? content : content.map((part) => part.text ?? "").join(""));

function Chat() {
  const [threadId, setThreadId] = useState(new URLSearchParams(location.search).get("thread"));
  const [text, setText] = useState("");
  const stream = useStream({
    apiUrl: url,
    assistantId: "agent",
    apiKey: null,
    defaultHeaders,
    threadId,
    onThreadId: (id) => {
      history.replaceState(null, "", `?thread=${id}`);
      setThreadId(id);
    },
    messagesKey: "messages",
    fetchStateHistory: true,
    reconnectOnMount: true,
  });

  const human = (content) => ({ messages: [{ type: "human", content }] });
  // The question is on the page before the server has it.
  const ask = (content) => {
    const { messages } = human(content);
    stream.submit(
      { messages },
      { optimisticValues: (shown) => ({ ...shown, messages: [...(shown.messages ?? []), ...messages] }) },
    );
  };
  const before = (message) => stream.getMessagesMetadata(message)?.firstSeenState?.parent_checkpoint;
  // The run's own stream brings its end, and what it kept.
  const end = async () => {
    const [run] = await stream.client.runs.list(threadId, { status: "running" });
    if (run) await stream.client.runs.cancel(threadId, run.run_id);
  };
  const typed = (go) => () => (go(text), setText(""));

  const branches = (message) => {
    const { branch, branchOptions } = stream.getMessagesMetadata(message) ?? {};
    if (!branchOptions) return null;
    return branchOptions.map((each, number) => (
      <button key={each} aria-pressed={each === branch} onClick={() => stream.setBranch(each)}>
        branch {number + 1}
      </button>
    ));
  };

  return (
    <>
      <ol>
        {stream.messages.map((message) => (
          <li key={message.id} className={message.type}>
            <p>{textOf(message.content)}</p>
            {branches(message)}
            {message.type === "human" ? (
              <button onClick={typed((edited) => stream.submit(human(edited), { checkpoint: before(message) }))}>edit</button>
            ) : (
              <button onClick={() => stream.submit(undefined, { checkpoint: before(message) })}>again</button>
            )}
          </li>
        ))}
      </ol>
      {stream.error ? <p role="alert">{String(stream.error.message ?? stream.error)}</p> : null}
      {stream.interrupt ? (
        <p id="question">
          <span>{stream.interrupt.value.question}</span>
          <button onClick={typed((resume) => stream.submit(undefined, { command: { resume } }))}>answer</button>
        </p>
      ) : null}
      <input aria-label="text" value={text} onChange={(event) => setText(event.target.value)} />
      <button onClick={typed(ask)}>ask</button>
      <button onClick={() => stream.stop()} disabled={!stream.isLoading}>
        stop
      </button>
      <button onClick={end}>end</button>
      <output>{stream.isLoading || stream.isThreadLoading ? "busy" : "at rest"}</output>
      <small>{stream.history.length} checkpoints</small>
    </>
  );
}

createRoot(document.getElementById("chat")).render(<Chat />);

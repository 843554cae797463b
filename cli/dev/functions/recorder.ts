import { AsyncLocalStorage } from "node:async_hooks";
import { setLogOutput } from "../../../observability/output.ts";
import { redactValue } from "../../../observability/redact.ts";
import { redactText } from "../../../observability/redact_text.ts";
import type { Span } from "../../../observability/span.ts";
import { onSpanEnd } from "../../../observability/tracer.ts";
import type { FunctionKind } from "../../discovery/function_kinds.ts";
import type { RecordedStatement } from "./statement_recorder.ts";

/** A log line that a function wrote. */
export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

/** A span as the page shows it. */
export interface RecordedSpan {
  readonly name: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  /** Milliseconds after the start of the call. */
  readonly startMs: number;
  readonly durationMs: number;
  readonly status: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A call of a function. */
export interface Call {
  readonly id: string;
  readonly kind: FunctionKind | "none";
  /** Omitted if no route matched. */
  readonly functionName?: string;
  /** `POST /notes?x=1`, or the trigger of another function: `queue message`. */
  readonly title: string;
  readonly method?: string;
  readonly startedAt: string;
  /** The id of the call that this one replays. */
  readonly replayOf?: string;
  /** The id of the message that started it. */
  readonly sentId?: string;
  isRunning: boolean;
  durationMs?: number;
  /** Status of the HTTP response. */
  status?: number;
  isFailed: boolean;
  /** A short error message. */
  note?: string;
  readonly logs: LogLine[];
  readonly spans: RecordedSpan[];
  /** The statements that it sent to an embedded local database. */
  readonly statements: RecordedStatement[];
  readonly metrics: Record<string, unknown>[];
  /** Headers and body, or the event; without credentials. */
  input?: unknown;
  /** The redacted result. */
  output?: unknown;
}

/** The known fields of a call when it begins. */
export type CallStart = Pick<
  Call,
  "kind" | "functionName" | "title" | "method" | "replayOf" | "sentId"
>;

/** A mail that a function sent. */
export interface SentMail {
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
  /** The time at which it arrived, ISO 8601. */
  readonly at: string;
  /** The links of the mail, each once. */
  readonly links: readonly string[];
}

/** An event for listeners. */
export type DevEvent =
  | { readonly type: "call"; readonly call: Call }
  | { readonly type: "sent"; readonly sent: unknown }
  | { readonly type: "mail"; readonly mail: SentMail }
  | { readonly type: "functions" }
  | { readonly type: "migrations" }
  | { readonly type: "log"; readonly log: LogLine };

/** Keeps the last calls with their log lines, metrics and spans. */
export interface Recorder {
  /** The last calls, newest first. */
  readonly calls: readonly Call[];
  /** Begins a call. A hidden one is recorded and not listed until {@link Recorder.show}. */
  begin(start: CallStart, isHidden?: boolean): Call;
  /** Lists a hidden call. */
  show(call: Call): void;
  /** Ends a call. */
  end(call: Call, outcome: Pick<Call, "status" | "isFailed" | "note" | "output">): void;
  /** Keeps a statement with the call that is running. */
  keepStatement(statement: RecordedStatement): void;
  /** Runs work in the context of a call: its log lines, metrics and spans are recorded with it. */
  run<T>(call: Call, work: () => T): T;
  /** Notifies listeners. */
  emit(event: DevEvent): void;
  /** Registers a listener and returns a function that removes it. */
  listen(listener: (event: DevEvent) => void): () => void;
  /** Restores the original log output. */
  stop(): void;
}

const MAX_CALLS = 200;
const MAX_LINES = 1000;

/**
 * Starts recording: redirects the log output to the recorder.
 *
 * @param pass Called with the raw text of log lines as well, to print it.
 */
export function createRecorder(pass: (text: string) => void = () => {}): Recorder {
  const current = new AsyncLocalStorage<Call>();
  const listeners = new Set<(event: DevEvent) => void>();
  const calls: Call[] = [];
  const startTimes = new WeakMap<Call, number>();
  const hidden = new WeakSet<Call>();

  function emit(event: DevEvent): void {
    for (const listener of listeners) listener(event);
  }

  function list(call: Call): void {
    calls.unshift(call);
    calls.length = Math.min(calls.length, MAX_CALLS);
    emit({ type: "call", call });
  }

  function update(call: Call): void {
    if (!hidden.has(call)) emit({ type: "call", call });
  }

  const restoreLog = setLogOutput(function keepLines(text): void {
    pass(text);
    const call = current.getStore();
    for (const line of text.split("\n")) {
      const fields = parseLine(line);
      if (fields === undefined) continue;
      if (call === undefined) emit({ type: "log", log: fields as LogLine });
      else {
        const isDocument = "_aws" in fields;
        if (isDocument) call.metrics.push(fields);
        // with METRICS_IN_SUMMARY a line is both
        const isLog = !isDocument || typeof fields.message === "string";
        if (isLog && call.logs.length < MAX_LINES) call.logs.push(fields as LogLine);
      }
    }
    // work that continues after the response
    if (call !== undefined && !call.isRunning) update(call);
  });

  const removeSpans = onSpanEnd(function keepSpan(span: Span): void {
    const call = current.getStore();
    if (call === undefined || call.spans.length >= MAX_LINES) return;
    call.spans.push(toRecordedSpan(span, call));
  });

  return {
    calls,
    emit,
    begin(start, isHidden = false): Call {
      const call = createCall(start);
      startTimes.set(call, performance.now());
      if (isHidden) hidden.add(call);
      else list(call);
      return call;
    },
    show(call): void {
      if (hidden.delete(call)) list(call);
    },
    end(call, outcome): void {
      Object.assign(call, outcome, {
        isRunning: false,
        durationMs: Math.round((performance.now() - startTimes.get(call)!) * 10) / 10,
      });
      update(call);
    },
    keepStatement(statement): void {
      const statements = current.getStore()?.statements;
      if (statements !== undefined && statements.length < MAX_LINES) statements.push(statement);
    },
    run: (call, work) => current.run(call, work),
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stop(): void {
      restoreLog();
      removeSpans();
    },
  };
}

function createCall(start: CallStart): Call {
  return {
    id: crypto.randomUUID(),
    startedAt: new Date().toISOString(),
    ...start,
    title: redactText(start.title),
    isRunning: true,
    isFailed: false,
    logs: [],
    spans: [],
    statements: [],
    metrics: [],
  };
}

function toRecordedSpan(span: Span, { startedAt }: Call): RecordedSpan {
  const endMs = span.endTimeMs ?? span.startTimeMs;
  return {
    name: span.name,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    startMs: span.startTimeMs - Date.parse(startedAt),
    durationMs: endMs - span.startTimeMs,
    status: span.status,
    attributes: redactValue(span.attributes) as Record<string, unknown>,
  };
}

/** Reads a log line; a line in another format becomes the message. */
export function parseLine(line: string): Record<string, unknown> | undefined {
  if (line === "") return undefined;
  try {
    const fields = JSON.parse(line);
    if (typeof fields === "object" && fields !== null) return fields;
  } catch {
    // a line in another format
  }
  return { level: "INFO", message: line };
}

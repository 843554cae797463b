import { rejectOnAbort } from "../core/async/deadline.ts";
import { remainingMs } from "../core/request_context.ts";
import { parseInput } from "../core/triggers/parse_input.ts";
import { getReason } from "../core/triggers/trigger_failure.ts";
import type { WrapperMetadata } from "../core/with_observability.ts";
import { describeEntry, type Entry, NEW_ENTRY, readResult, writeResult } from "./journal.ts";
import { currentPlace, Operation, type OperationObserver, runAt, Scope } from "./scope.ts";
import { createTurnJob, getChildId, getChildSignal, prepareStart } from "./start_workflow.ts";
import { attemptStep, readStep, type StepWork } from "./step.ts";
import { TurnRecord, type TurnRows } from "./turn_record.ts";
import type {
  AnyWorkflow,
  WaitForOptions,
  WorkflowDefinition,
  WorkflowParams,
} from "./workflow.ts";
import { WorkflowCodeError, WorkflowStepError } from "./workflow_errors.ts";

/** How far a turn came. A `broken` one could not go on, and its job is tried again. */
export type Outcome =
  | { readonly kind: "done"; readonly output: string | null }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "suspended" }
  | { readonly kind: "stopped"; readonly error: WorkflowCodeError }
  | { readonly kind: "broken"; readonly error: unknown };

/** What a turn needs. */
export interface TurnOptions extends TurnRows {
  /** The workflow's code. */
  readonly definition: WorkflowDefinition;
  /** Aborted when the time of the turn is up. */
  readonly signal: AbortSignal;
  /** Aborted when the workflow was cancelled: steps that run can end, and no other one begins. */
  readonly cancelling: AbortSignal;
  /** Ids for logs. */
  readonly metadata: WrapperMetadata;
}

/** Takes back what a step has done. */
type Undo = Omit<StepWork, "kind" | "label">;

/** Most entries of a workflow: each turn reads all of them. */
const MAX_ENTRIES = 10_000;

/** Replays a workflow and continues it until it waits or ends. */
export class Turn implements OperationObserver {
  /** What it has read, and writes. */
  readonly record: TurnRecord;
  readonly #options: TurnOptions;
  /** Signal of the workflow's code. */
  readonly #signal: AbortSignal;
  readonly #undos: Undo[] = [];
  readonly #running: Set<Promise<void>> = new Set();
  #scopes: Set<Scope> = new Set();
  #isUndoing: boolean;
  #steps = 0;
  #hasEnded = false;
  #end: (outcome: Outcome) => void = () => {};
  #check: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param options Code, rows and client.
   */
  constructor(options: TurnOptions) {
    this.#options = options;
    this.#signal = AbortSignal.any([options.signal, options.cancelling]);
    this.#isUndoing = options.row.mode !== "run";
    this.record = new TurnRecord(options);
  }

  /** True if steps are to be taken back. */
  get hasUndos(): boolean {
    return this.#undos.length > 0;
  }

  /** Runs the workflow's function. */
  async run(): Promise<Outcome> {
    const { definition, row, entries } = this.#options;
    if (entries.length > MAX_ENTRIES) {
      return this.#stopped(
        `It has more than ${MAX_ENTRIES} steps and signals: use child workflows`,
      );
    }
    let input: unknown;
    try {
      input = await parseInput(definition.input, JSON.parse(row.input));
    } catch (error) {
      return this.#stopped(`The input does not fit the schema any more: ${getReason(error)}`);
    }
    return await this.#drive(new Scope("", row.startedMs), async () => {
      const output = await definition.body(this.#createParams(input));
      if (definition.output === undefined) return output;
      return await parseInput(definition.output, output).catch((error) => {
        throw new WorkflowCodeError(
          `The result does not fit the schema output: ${getReason(error)}`,
        );
      });
    });
  }

  /** Takes the steps back that have been done, the last one first. */
  async undo(): Promise<Outcome> {
    this.#isUndoing = true;
    const undos = this.#undos.sort((a, b) => a.key < b.key ? 1 : -1);
    const outcome = await this.#drive(new Scope("u.", this.record.now(), true), async (scope) => {
      for (const undo of undos) {
        const label = `undo of step "${undo.name}"`;
        await this.#runStep(scope, { ...undo, kind: "undo", key: `u.${undo.key}`, label });
      }
    });
    if (outcome.kind !== "failed") return outcome;
    return this.#stopped(`A step could not be taken back. ${getReason(outcome.error)}`);
  }

  onProgress(): void {
    this.#check ??= setTimeout(() => {
      this.#check = undefined;
      if ([...this.#scopes].every((scope) => scope.isStuck())) this.#end({ kind: "suspended" });
    });
  }

  onMisuse(message: string): void {
    this.#end(this.#stopped(message));
  }

  #stopped(message: string): Outcome & { kind: "stopped" } {
    return { kind: "stopped", error: new WorkflowCodeError(message) };
  }

  /** Runs a function until it ends, or until all that it waits for needs a later turn. */
  async #drive(
    scope: Scope,
    work: (scope: Scope) => Promise<unknown>,
  ): Promise<Outcome> {
    const { signal, cancelling } = this.#options;
    const ended = new Promise<Outcome>((resolve) => {
      this.#end = (outcome) => {
        // what the workflow's code does after that has no effect
        this.#end = () => {};
        this.#hasEnded = true;
        resolve(outcome);
      };
    });
    this.#hasEnded = false;
    this.#scopes = new Set([scope]);
    rejectOnAbort(signal).catch((error) => this.#end({ kind: "broken", error }));
    if (!this.#isUndoing) {
      rejectOnAbort(cancelling).catch(() => this.#end({ kind: "suspended" }));
    }
    this.#runScope(scope, () => work(scope)).then(
      (output) => this.#finish(output),
      (error) =>
        this.#end(
          error instanceof WorkflowCodeError
            ? { kind: "stopped", error }
            : { kind: "failed", error },
        ),
    );
    try {
      const outcome = await ended;
      // a step of another branch, or an aborted one, may still run
      while (this.#running.size > 0) {
        await Promise.race([Promise.all(this.#running), rejectOnAbort(signal)]);
      }
      return outcome;
    } catch (error) {
      return { kind: "broken", error };
    } finally {
      clearTimeout(this.#check);
      this.#check = undefined;
    }
  }

  #finish(output: unknown): void {
    try {
      this.#end({ kind: "done", output: writeResult("The result of the workflow", output) });
    } catch (error) {
      this.#end({ kind: "stopped", error: error as WorkflowCodeError });
    }
  }

  /** Runs the function of a scope, and checks that it has awaited and reached all that there is. */
  async #runScope<T>(scope: Scope, fn: () => Promise<T>): Promise<T> {
    const result = await runAt({ scope }, fn);
    const [open] = scope.open;
    if (open !== undefined) {
      throw new WorkflowCodeError(`${open.label} was not awaited before the end: write await`);
    }
    const left = this.record.peek(scope);
    if (left !== undefined && left.kind !== "patch" && !scope.isUndo) {
      throw new WorkflowCodeError(
        `It ended, but ${
          describeEntry(left)
        } was recorded next: the code has changed. Use patched or version`,
      );
    }
    this.#scopes.delete(scope);
    return result;
  }

  /** Returns the scope of the calling code, which is no step: an operation within one would be lost. */
  #currentScope(label: string): Scope {
    const scope = getScope(label);
    const { step } = currentPlace()!;
    if (step === undefined) return scope;
    throw new WorkflowCodeError(
      `${label} was called within step "${step}": steps cannot contain steps`,
    );
  }

  /** Stops the workflow when a call is wrong, also if its code catches the error. */
  #guard<A extends unknown[], R>(call: (...args: A) => R): (...args: A) => R {
    return (...args) => {
      try {
        return call(...args);
      } catch (error) {
        this.#fail(error);
        throw error;
      }
    };
  }

  #createParams(input: unknown): WorkflowParams<unknown> {
    const { row, metadata } = this.#options;
    return {
      input,
      id: row.id,
      version: row.version,
      signal: this.#signal,
      metadata,
      step: this.#guard((name: string, ...rest: readonly unknown[]) => this.#step(name, rest)),
      sleep: this.#guard((seconds: number) => {
        checkNumber("sleep", seconds);
        return this.#sleep("sleep", (now) => now + seconds * 1000);
      }),
      sleepUntil: this.#guard((time: Date | number) =>
        this.#sleep("sleepUntil", () => new Date(time).getTime())
      ),
      waitFor: this.#guard((name: string, options: WaitForOptions = {}) =>
        this.#waitFor(name, options)
      ),
      child: this.#guard((workflow: AnyWorkflow, childInput: unknown) =>
        this.#child(workflow.definition, childInput)
      ),
      all: this.#guard((members: readonly unknown[]) => this.#all(members)),
      now: this.#guard(() => new Date(getScope("now").lastMs)),
      random: this.#guard(() => getScope("random").random(row.id)),
      uuid: this.#guard(() => this.#uuid()),
      patched: this.#guard((name: string) => this.#patched(name)),
    } as WorkflowParams<unknown>;
  }

  #step(name: string, rest: readonly unknown[]): Promise<unknown> {
    const label = `step "${name}"`;
    const scope = this.#currentScope(label);
    const { fn, undo, retry } = readStep(name, rest);
    const { key } = this.record.take(scope, { kind: "step", name });
    const work: StepWork = {
      kind: "step",
      key,
      name,
      label,
      retry,
      isTransaction: fn.length > 0,
      run: fn,
    };
    return this.#runStep(scope, work, (result) => {
      if (undo === undefined) return;
      const isTransaction = undo.length > 1;
      this.#undos.push({ key, name, retry, isTransaction, run: (tx) => undo(result, tx) });
    });
  }

  #runStep(
    scope: Scope,
    work: StepWork,
    onDone: (result: unknown) => void = () => {},
  ): Promise<unknown> {
    const entry = this.record.find(work.key);
    const operation: Operation<unknown> = new Operation(scope, work.label, this, () => {
      if (entry?.state === "done") {
        const result = readResult(entry.result);
        onDone(result);
        return operation.resolve(result, entry.finishedMs!);
      }
      if (entry?.state === "failed") {
        const error = new WorkflowStepError(work.name, entry.error ?? "");
        return operation.reject(error, entry.finishedMs!);
      }
      const mayRun = this.#options.db !== undefined && !this.#hasEnded &&
        (!this.#isUndoing || scope.isUndo);
      if (!mayRun || entry !== undefined && !this.record.isDue(entry)) return operation.wait();
      if (this.#steps > 0 && remainingMs() < this.#options.definition.settings.timeoutMs / 2) {
        return this.#goOnLater(operation);
      }
      this.#steps++;
      this.#track((async () => {
        const attempt = (entry?.attempts ?? 0) + 1;
        const signal = this.#isUndoing ? this.#options.signal : this.#signal;
        const outcome = await attemptStep(work, { record: this.record, scope, attempt, signal });
        if (outcome.kind === "later") return operation.wait();
        if (outcome.kind === "failed") return operation.reject(outcome.error, outcome.atMs);
        onDone(outcome.result);
        operation.resolve(outcome.result, outcome.atMs);
      })());
    });
    return operation;
  }

  #track(work: Promise<void>): void {
    const running = work.catch((error) => this.#fail(error))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Ends the turn because of an error that the workflow does not get. */
  #fail(error: unknown): void {
    const isCode = error instanceof WorkflowCodeError;
    this.#end(isCode ? { kind: "stopped", error } : { kind: "broken", error });
  }

  /** Leaves the rest to another turn, because the time of this one may not suffice. */
  #goOnLater(operation: Operation<unknown>): void {
    const { definition, row } = this.#options;
    this.#track((async () => {
      const wake = await createTurnJob(definition.name, { id: row.id });
      this.record.timers.push(wake);
      operation.wait();
    })());
  }

  #sleep(name: string, getWakeMs: (nowMs: number) => number): Promise<void> {
    const scope = this.#currentScope(name);
    const { key, entry } = this.record.take(scope, { kind: "sleep", name });
    const operation: Operation<void> = new Operation(scope, name, this, () => {
      if (entry?.state === "done") return operation.resolve(undefined, entry.finishedMs!);
      if (this.#isUndoing || this.#options.db === undefined) return operation.wait();
      const now = this.record.now();
      const wakeMs = entry?.wakeMs ?? Math.ceil(getWakeMs(now));
      if (!(wakeMs - now <= MAX_SECONDS * 1000)) {
        return this.onMisuse(`${name} must end within ${MAX_SECONDS} seconds`);
      }
      const known: Entry = entry ?? { ...NEW_ENTRY, kind: "sleep", key, name, wakeMs };
      if (this.record.isDue(known)) {
        const finishedMs = Math.max(now, wakeMs);
        this.record.buffer.push({ ...known, state: "done", finishedMs });
        return operation.resolve(undefined, finishedMs);
      }
      if (entry !== undefined) return operation.wait();
      this.#track((async () => {
        await this.record.addPending(known);
        operation.wait();
      })());
    });
    return operation;
  }

  #waitFor(
    name: string,
    { timeoutSeconds, schema }: WaitForOptions,
  ): Promise<unknown> {
    const label = `waitFor "${name}"`;
    const scope = this.#currentScope(label);
    if (timeoutSeconds !== undefined) checkNumber(`timeoutSeconds of ${label}`, timeoutSeconds);
    const { key, entry } = this.record.take(scope, { kind: "wait", name });
    const parse = (text: string | null): Promise<unknown> =>
      Promise.resolve(
        text === null || schema === undefined
          ? readResult(text)
          : parseInput(schema, JSON.parse(text)),
      ).catch((error) => {
        throw new WorkflowCodeError(
          `The payload of the signal "${name}" does not fit its schema: ${getReason(error)}`,
        );
      });
    return this.#receive(scope, { kind: "wait", key, name, label, entry }, {
      signalName: name,
      timeoutSeconds,
      parse,
    });
  }

  /** Waits for a signal, or for the end of its time. */
  #receive(
    scope: Scope,
    { kind, key, name, label, entry }: {
      kind: "wait" | "child";
      key: string;
      name: string;
      label: string;
      entry: Entry | undefined;
    },
    { signalName, timeoutSeconds, parse, begin }: {
      signalName: string;
      timeoutSeconds?: number;
      parse: (text: string | null) => Promise<unknown>;
      begin?: () => Promise<void>;
    },
  ): Promise<unknown> {
    const end = (text: string | null, atMs: number): Promise<void> =>
      parse(text).then(
        (value) => operation.resolve(value, atMs),
        (error) => {
          if (error instanceof WorkflowCodeError) throw error;
          operation.reject(error, atMs);
        },
      );
    const operation: Operation<unknown> = new Operation(scope, label, this, () => {
      if (entry?.state === "done") return this.#track(end(entry.result, entry.finishedMs!));
      if (this.#isUndoing || this.#options.db === undefined) return operation.wait();
      const now = this.record.now();
      const known: Entry = entry ??
        {
          ...NEW_ENTRY,
          kind,
          key,
          name,
          wakeMs: timeoutSeconds === undefined ? null : Math.ceil(now + timeoutSeconds * 1000),
        };
      const signal = this.record.takeSignal(signalName);
      if (signal === undefined && !this.record.isDue(known)) {
        if (entry !== undefined) return operation.wait();
        return this.#track((async () => {
          await begin?.();
          await this.record.addPending(known);
          operation.wait();
        })());
      }
      if (signal !== undefined) {
        this.record.buffer.push({ ...signal, state: "done", finishedMs: now });
        this.record.removeTimer(entry);
      }
      const text = signal?.result ?? null;
      this.record.buffer.push({ ...known, state: "done", result: text, finishedMs: now });
      this.#track(end(text, now));
    });
    return operation;
  }

  #child(definition: WorkflowDefinition, input: unknown): Promise<unknown> {
    const { row } = this.#options;
    const { name } = definition;
    const label = `child "${name}"`;
    const scope = this.#currentScope(label);
    const { key, entry } = this.record.take(scope, { kind: "child", name });
    return this.#receive(scope, { kind: "child", key, name, label, entry }, {
      signalName: getChildSignal(key),
      parse: (text) => {
        const { state, output, error } = JSON.parse(text!) as ChildResult;
        if (state === "done") return Promise.resolve(readResult(output));
        return Promise.reject(new WorkflowStepError(name, error ?? `The workflow was ${state}`));
      },
      begin: async () => {
        const id = await getChildId(row.id, key);
        const parent = { id: row.id, name: row.name, entry: key };
        const child = await prepareStart(definition, input, { id, parent }).catch((error) => {
          throw new WorkflowCodeError(`The input of ${label} does not fit: ${getReason(error)}`);
        });
        this.record.children.push(child);
      },
    });
  }

  /** Waits for several operations and branches. */
  #all(members: readonly unknown[]): Promise<unknown[]> {
    const scope = this.#currentScope("all");
    const key = this.record.takeAll(scope, members);
    for (const member of members) {
      if (member instanceof Operation && member.state === "new") member.state = "given";
    }
    const operation: Operation<unknown[]> = new Operation(scope, "all", this, () => {
      const branches: Scope[] = [];
      const results = members.map((member, at): Promise<unknown> => {
        if (typeof member !== "function") return Promise.resolve(member);
        const branch = new Scope(`${key}.${at}.`, scope.lastMs);
        branches.push(branch);
        this.#scopes.add(branch);
        return this.#runScope(branch, async () => await member()).finally(() =>
          this.#scopes.delete(branch)
        );
      });
      Promise.allSettled(results).then((settled) => {
        const atMs = Math.max(scope.lastMs, ...branches.map(({ lastMs }) => lastMs));
        const wrong = settled.find((each) => each.status === "rejected");
        if (wrong === undefined) {
          return operation.resolve(settled.map((each) => (each as { value: unknown }).value), atMs);
        }
        if (wrong.reason instanceof WorkflowCodeError) return this.#fail(wrong.reason);
        operation.reject(wrong.reason, atMs);
      });
      operation.wait();
    });
    return operation;
  }

  #uuid(): string {
    const { row } = this.#options;
    const scope = getScope("uuid");
    const digits = Array.from({ length: 32 }, () => Math.floor(scope.random(row.id) * 16));
    digits[12] = 8;
    digits[16] = digits[16] & 3 | 8;
    const hex = digits.map((digit) => digit.toString(16)).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }

  #patched(name: string): boolean {
    const scope = this.#currentScope(`patched("${name}")`);
    const key = scope.key();
    const recorded = this.record.peek(scope);
    if (recorded !== undefined) {
      const isPatched = recorded.kind === "patch" && recorded.name === name;
      if (isPatched) scope.next++;
      return isPatched;
    }
    scope.next++;
    if (!this.#isUndoing) {
      this.record.buffer.push({
        ...NEW_ENTRY,
        kind: "patch",
        key,
        name,
        state: "done",
        finishedMs: scope.lastMs,
      });
    }
    return true;
  }
}

/** Result that a child workflow returns to its parent. */
export interface ChildResult {
  /** `done`, `failed` or `cancelled`. */
  readonly state: string;
  /** JSON of the result. */
  readonly output: string | null;
  /** Why it failed. */
  readonly error: string | null;
}

function getScope(label: string): Scope {
  const place = currentPlace();
  if (place === undefined) {
    throw new WorkflowCodeError(`${label} was called outside of its workflow`);
  }
  return place.scope;
}

/** Longest sleep or wait, in seconds. */
const MAX_SECONDS = 366 * 86_400;

function checkNumber(what: string, seconds: number): void {
  if (typeof seconds === "number" && seconds >= 0 && seconds <= MAX_SECONDS) return;
  throw new WorkflowCodeError(`${what} is ${seconds}: it must be 0 to ${MAX_SECONDS} seconds`);
}

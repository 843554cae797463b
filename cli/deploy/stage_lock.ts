import type { S3Client } from "@aws-sdk/client-s3";
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { limitRequest, type RequestLimit } from "../../env/limit_request.ts";
import { takeInstanceLock } from "../files/instance_lock.ts";
import { waitForStopSignal } from "../terminal/stop_signals.ts";
import { type OpenStage, StepError } from "./deployment.ts";

/** Lock of a stage: one deployment at a time. */
interface StageLock {
  /**
   * Renews the lock.
   *
   * @throws {StepError} If this deployment must not go on, because another one may have taken the lock.
   */
  check(): Promise<void>;
  /** Releases the lock. */
  release(): Promise<void>;
}

/** What the lock object contains. */
interface Lease {
  readonly id: string;
  /** `ana@laptop` */
  readonly owner: string;
  readonly startedAt: string;
}

/** A lease in the bucket. */
interface PresentLease {
  readonly found: Lease;
  readonly tag: string;
  /** Time since it was written, by two times of Amazon S3: clocks of machines differ, and can be set. */
  readonly ageMs: number;
}

const LIMIT: RequestLimit = { service: "Amazon S3", limitMs: 30_000 };
const RENEW_MS = 60_000;
/** Time after which a lease that is not renewed belongs to a dead process, on the clock of Amazon S3. */
const EXPIRY_MS = 15 * 60_000;

/**
 * Runs a deployment with the lock of its stage, so that two deployments cannot mix their migrations, grants
 * and releases. Terraform locks the state only while it runs. The lock is an object beside the state in its
 * bucket, or a file on this machine. SIGINT and SIGTERM interrupt Terraform and release it before they end the process.
 *
 * @param run The deployment. It calls `check` before each step.
 * @throws {ConfigurationError} If another deployment of the stage is running.
 */
export async function withStageLock<T>(
  opened: OpenStage,
  run: (lock: Pick<StageLock, "check">) => Promise<T>,
): Promise<T> {
  const lock = await takeStageLock(opened);
  // the result matters more; the lock expires
  const release = () => lock.release().catch(() => {});
  const { stopped, restore } = waitForStopSignal();
  stopped.then(async (signal) => {
    const { context: { output }, terraform } = opened;
    output.note(`Stopping. A second signal does not wait for ${terraform.product}`);
    await terraform.stop();
    await release();
    output.note("Stopped. Run the command again to go on");
    process.exit(signal === "SIGINT" ? 130 : 143);
  });
  try {
    return await run(lock);
  } finally {
    await release();
    restore();
  }
}

async function takeStageLock(
  { config: { infra }, context: { options, output }, folder, stage, prefix }: OpenStage,
): Promise<StageLock> {
  if (infra.state === undefined) {
    const file = join(folder, ".terraform", "stages", `${stage.name}.deploy.lock`);
    const release = takeInstanceLock(
      file,
      (pid) => `Another deployment of ${prefix} is running (process ${pid}): wait for its end`,
    );
    return { async check() {}, release: () => Promise.resolve(release()) };
  }
  const client = await openClient(infra.state.region);
  if (client === undefined) {
    output.warn(
      "Two deployments at once are not prevented, and the running release is not recorded for the check " +
        "of migrations: install @aws-sdk/client-s3 for objects in the bucket of infra.state",
    );
    return { async check() {}, release: () => Promise.resolve() };
  }
  const place = { Bucket: infra.state.bucket, Key: `${stage.backend.key}.deploy.lock` };
  return await takeLease(client, place, prefix, options.unlock === true);
}

async function openClient(region: string): Promise<S3Client | undefined> {
  const library = await import("@aws-sdk/client-s3").catch(() => undefined);
  return library && new library.S3Client({ region });
}

interface Place {
  readonly Bucket: string;
  readonly Key: string;
}

async function takeLease(
  client: S3Client,
  place: Place,
  prefix: string,
  isUnlocking: boolean,
): Promise<StageLock> {
  const { DeleteObjectCommand, GetObjectCommand, PutObjectCommand } = await import(
    "@aws-sdk/client-s3"
  );
  const lease: Lease = {
    id: randomUUID(),
    owner: `${process.env.GITHUB_ACTOR ?? process.env.USER ?? "somebody"}@${hostname()}`,
    startedAt: new Date().toISOString(),
  };

  /** Writes the lease if the object is the expected one. Returns its tag; `undefined` if it is another one's. */
  async function write(
    condition: { IfMatch: string } | { IfNoneMatch: "*" },
  ): Promise<string | undefined> {
    try {
      const command = new PutObjectCommand({ ...place, ...condition, Body: JSON.stringify(lease) });
      const { ETag } = await limitRequest(
        LIMIT,
        (abortSignal) => client.send(command, { abortSignal }),
      );
      return ETag;
    } catch (error) {
      if (!isConflict(error)) throw error;
      // the answer to the request before may have been lost
      const present = await read();
      return present?.found.id === lease.id ? present.tag : undefined;
    }
  }

  async function read(): Promise<PresentLease | undefined> {
    const command = new GetObjectCommand(place);
    let readMs = NaN;
    command.middlewareStack.add((next) => async (args) => {
      const result = await next(args);
      const { headers } = result.response as { headers: Record<string, string> };
      readMs = Date.parse(headers.date);
      return result;
    }, { step: "deserialize" });
    try {
      return await limitRequest(LIMIT, async (abortSignal) => {
        const { Body, ETag, LastModified } = await client.send(command, { abortSignal });
        return {
          found: JSON.parse(await Body!.transformToString()) as Lease,
          tag: ETag!,
          ageMs: readMs - LastModified!.getTime(),
        };
      });
    } catch (error) {
      if ((error as Error).name === "NoSuchKey") return undefined;
      throw error;
    }
  }

  async function take(): Promise<string> {
    const created = await write({ IfNoneMatch: "*" });
    if (created !== undefined) return created;
    const present = await read();
    const isDead = present !== undefined && (isUnlocking || present.ageMs > EXPIRY_MS);
    const taken = isDead ? await write({ IfMatch: present.tag }) : undefined;
    if (taken !== undefined) return taken;
    // of those that take over a dead lock at once, one does
    const holder = isDead ? await read() : present;
    const { owner, startedAt } = holder?.found ?? { owner: "somebody", startedAt: "just now" };
    throw new ConfigurationError(
      `${owner} is deploying ${prefix} (since ${startedAt}): wait for its end. The lock of a process that ` +
        `was killed expires after ${EXPIRY_MS / 60_000} minutes; --unlock takes it at once`,
    );
  }

  let tag = await take();
  let isLost = false;
  async function renew(): Promise<void> {
    const renewed = isLost ? undefined : await write({ IfMatch: tag });
    if (renewed === undefined) isLost = true;
    else tag = renewed;
  }
  // one after another, because each needs the tag of the one before
  let renewing: Promise<void> = Promise.resolve();
  // the next renewal repeats a failed request
  const renewNext = () => renewing = renewing.catch(() => {}).then(renew);
  const timer = setInterval(() => renewNext().catch(() => {}), RENEW_MS);
  timer.unref();
  return {
    async check(): Promise<void> {
      await renewNext();
      if (isLost) {
        throw new StepError(
          `the lock of ${prefix} was lost, so another deployment may be running: nothing more was run`,
        );
      }
    },
    async release(): Promise<void> {
      clearInterval(timer);
      // a renewal may be on its way
      await renewing.catch(() => {});
      if (isLost) return;
      const command = new DeleteObjectCommand({ ...place, IfMatch: tag });
      await limitRequest(LIMIT, (abortSignal) => client.send(command, { abortSignal }));
    },
  };
}

/** Returns true if the object is not the expected one, or is being written. */
function isConflict(error: unknown): boolean {
  const { name } = error as Error;
  return ["PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey"].includes(name);
}

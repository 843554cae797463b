import type { S3Client } from "@aws-sdk/client-s3";
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type Clock, systemClock } from "../../core/async/clock.ts";
import { limitRequest, type RequestLimit } from "../../env/limit_request.ts";
import { takeInstanceLock } from "../dev/instance_lock.ts";
import { waitForStopSignal } from "../dev/stop_signals.ts";
import { type Deployment, StepError } from "./deployment.ts";

/** Lock of a stage: one deployment at a time. */
interface StageLock {
  /**
   * Checks that nobody else has taken the lock.
   *
   * @throws {StepError} If this deployment must not go on.
   */
  check(): void;
  /** Releases the lock. */
  release(): Promise<void>;
}

/** What the lock object contains. */
interface Lease {
  readonly id: string;
  /** `ana@laptop` */
  readonly owner: string;
  readonly startedAt: string;
  /** Epoch milliseconds of the last renewal. */
  readonly renewedMs: number;
}

const LIMIT: RequestLimit = { service: "Amazon S3", limitMs: 30_000 };
const RENEW_MS = 60_000;
/**
 * Time after which a lease that is not renewed belongs to a dead process. Clocks of machines differ: AWS
 * refuses requests that are 15 minutes off (Amazon S3 API reference, RequestTimeTooSkewed).
 */
const EXPIRY_MS = 15 * 60_000;

/**
 * Runs a deployment with the lock of its stage, so that two deployments cannot mix their migrations, grants
 * and releases. Terraform locks the state only while it runs. The lock is an object beside the state in its
 * bucket, or a file on this machine. SIGINT and SIGTERM release it before they end the process.
 *
 * @param run The deployment. It calls `check` before each step.
 * @param clock Reads the time.
 * @throws {StepError} If another deployment of the stage is running.
 */
export async function withStageLock<T>(
  deployment: Deployment,
  run: (lock: Pick<StageLock, "check">) => Promise<T>,
  clock: Clock = systemClock,
): Promise<T> {
  const lock = await takeStageLock(deployment, clock);
  // the result matters more; the lock expires
  const release = () => lock.release().catch(() => {});
  const { stopped, restore } = waitForStopSignal();
  stopped.then(async (signal) => {
    await release();
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
  deployment: Deployment,
  clock: Clock,
): Promise<StageLock> {
  const { plan: { config: { infra }, folder }, stage, prefix } = deployment;
  if (infra.state === undefined) {
    const file = join(folder, ".terraform", "stages", `${stage.name}.deploy.lock`);
    const release = takeInstanceLock(
      file,
      (pid) => `Another deployment of ${prefix} is running (process ${pid}): wait for its end`,
    );
    return { check() {}, release: () => Promise.resolve(release()) };
  }
  const client = await openClient(infra.state.region);
  if (client === undefined) {
    deployment.context.output.warn(
      "Two deployments at once are not prevented: install @aws-sdk/client-s3 for a lock in the bucket of " +
        "infra.state",
    );
    return { check() {}, release: () => Promise.resolve() };
  }
  const place = { Bucket: infra.state.bucket, Key: `${stage.backend.key}.deploy.lock` };
  return await takeLease(client, place, prefix, clock);
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
  clock: Clock,
): Promise<StageLock> {
  const { DeleteObjectCommand, GetObjectCommand, PutObjectCommand } = await import(
    "@aws-sdk/client-s3"
  );
  const lease = {
    id: randomUUID(),
    owner: `${process.env.GITHUB_ACTOR ?? process.env.USER ?? "somebody"}@${hostname()}`,
    startedAt: new Date(clock.now()).toISOString(),
  };

  /** Writes the lease if the object is the expected one. Returns its tag; `undefined` if it is not. */
  async function write(
    condition: { IfMatch: string } | { IfNoneMatch: "*" },
  ): Promise<string | undefined> {
    const Body = JSON.stringify({ ...lease, renewedMs: clock.now() } satisfies Lease);
    try {
      const command = new PutObjectCommand({ ...place, ...condition, Body });
      const { ETag } = await limitRequest(
        LIMIT,
        (abortSignal) => client.send(command, { abortSignal }),
      );
      return ETag;
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  }

  async function read(): Promise<{ found: Lease; tag: string } | undefined> {
    try {
      return await limitRequest(LIMIT, async (abortSignal) => {
        const { Body, ETag } = await client.send(new GetObjectCommand(place), { abortSignal });
        return { found: JSON.parse(await Body!.transformToString()) as Lease, tag: ETag! };
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
    const isDead = present !== undefined && clock.now() - present.found.renewedMs > EXPIRY_MS;
    const taken = isDead ? await write({ IfMatch: present.tag }) : undefined;
    if (taken !== undefined) return taken;
    const { owner, startedAt } = present?.found ?? { owner: "somebody", startedAt: "just now" };
    throw new StepError(
      `${owner} is deploying ${prefix} (since ${startedAt}): wait for its end. The lock of a process that ` +
        `was killed expires after ${
          EXPIRY_MS / 60_000
        } minutes; aws s3 rm s3://${place.Bucket}/${place.Key} ` +
        "removes it",
    );
  }

  let tag = await take();
  let renewedMs = clock.now();
  let isLost = false;
  async function renew(): Promise<void> {
    const nowMs = clock.now();
    const renewed = await write({ IfMatch: tag });
    if (renewed === undefined) isLost = true;
    else [tag, renewedMs] = [renewed, nowMs];
  }
  // the next renewal repeats a failed request
  let renewing: Promise<void> | undefined;
  const timer = setInterval(() => renewing = renew().catch(() => {}), RENEW_MS);
  timer.unref();
  return {
    check(): void {
      if (isLost || clock.now() - renewedMs > EXPIRY_MS - 2 * RENEW_MS) {
        throw new StepError(
          `the lock of ${prefix} was lost, so another deployment may be running: nothing more was run`,
        );
      }
    },
    async release(): Promise<void> {
      clearInterval(timer);
      // a renewal may be on its way
      await renewing;
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

import { sha256 } from "../core/digest.ts";
import { getQueryString } from "../core/http/api_event.ts";
import { escapeHtml } from "../core/http/escape_html.ts";
import type { ApiEvent, ProxyResult } from "../core/http/lambda.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import {
  countJobs,
  describeState,
  getJob,
  JOB_STATES,
  type JobDetails,
  type JobWithPayload,
  listJobs,
} from "./job_admin.ts";
import { isJobId } from "./job_row.ts";

/** Options of {@link renderJobsPage}. */
export interface JobsPageOptions {
  /**
   * True to show payloads and results, which may hold personal data.
   * @default false
   */
  payloads?: boolean;
}

const STYLE = `:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { margin: 0 auto; max-width: 75rem; padding: 1rem }
.scroll { overflow-x: auto }
table { border-collapse: collapse; margin: 1rem 0; width: 100% }
th, td { border-bottom: 1px solid #8886; padding: .3rem .8rem .3rem 0; text-align: left; vertical-align: top }
pre { overflow-x: auto; white-space: pre-wrap }
form { display: flex; flex-wrap: wrap; gap: .5rem }
input, select, button { font: inherit; padding: .2rem .5rem }
.dead { color: #d33; font-weight: 600 }`;

const COUNTS = ["job", "state", "jobs", "due", "waiting since", "waits for its limit"] as const;

/**
 * Renders a page for a browser that shows the jobs of the table: their number by name and state, the last 100 jobs by
 * name or state, and each job with its last error. It changes nothing, runs no script, and needs the right to select from
 * the table of jobs. Serve it to administrators only.
 *
 * @param db The client.
 * @param event The request. Its query parameters `state`, `name` and `id` choose what is shown; others are ignored.
 * @param options Whether payloads are shown.
 * @returns The response, for a handler that declares no `responses`.
 *
 * @example
 * ```ts ignore
 * // src/functions/api/admin/jobs.get.ts
 * export const handler = defineApiHandler({ auth: session({ roles: ["admin"] }) })(
 *   async ({ event }) => await renderJobsPage(await getDb(), event),
 * );
 * ```
 */
export async function renderJobsPage(
  db: DrizzleClient,
  event: ApiEvent,
  { payloads = false }: JobsPageOptions = {},
): Promise<ProxyResult> {
  const params = new URLSearchParams(getQueryString(event));
  const id = params.get("id");
  if (id === null) return await buildPage(200, await renderList(db, params));
  const job = isJobId(id) ? await getJob(db, id) : undefined;
  return job === undefined
    ? await buildPage(
      404,
      "<p>The table has no such job. Finished jobs are removed after a time.</p>",
    )
    : await buildPage(200, renderJob(job, payloads));
}

async function renderList(db: DrizzleClient, params: URLSearchParams): Promise<string> {
  const state = JOB_STATES.find((each) => each === params.get("state"));
  const name = params.get("name")?.trim() || undefined;
  const counts = await countJobs(db);
  const jobs = await listJobs(db, { state, name, limit: 100 });
  const options = ["", ...JOB_STATES].map((each) =>
    `<option value="${each}"${each === (state ?? "") ? " selected" : ""}>${
      each || "all states"
    }</option>`
  );
  return [
    renderTable("Jobs by name and state", COUNTS, [
      ...counts.map(({ name, state, jobs, due, oldestDueSeconds, waitForLimit }) => [
        renderLink({ name }, name),
        renderLink({ name, state }, state),
        String(jobs),
        String(due),
        due === 0 ? "" : `${oldestDueSeconds} s`,
        waitForLimit === 0 ? "" : String(waitForLimit),
      ]),
    ]),
    `<form><select name="state" aria-label="State">${options.join("")}</select>`,
    `<input name="name" aria-label="Name" placeholder="Name" value="${escapeHtml(name ?? "")}">`,
    "<button>Show</button></form>",
    renderTable("The last jobs", ["job", "state", "attempts", "enqueued", "last error"], [
      ...jobs.map((job) => [
        renderLink({ id: job.id }, job.name),
        renderState(job),
        String(job.attempts),
        renderTime(job.enqueuedAt),
        escapeHtml(job.lastError?.split("\n")[0] ?? ""),
      ]),
    ]),
  ].join("\n");
}

function renderJob(job: JobWithPayload, payloads: boolean): string {
  const { id, name, attempts, group, progress, correlationId, lastError, payload, result } = job;
  const times = [["enqueued", job.enqueuedAt], ["runs from", job.runAt], ["ended", job.finishedAt]];
  const facts: [string, string | undefined][] = [
    ["state", renderState(job)],
    ["attempts", String(attempts)],
    ...times.map(([what, time]): [string, string | undefined] => [what!, time && renderTime(time)]),
    ["group", group && escapeHtml(group)],
    ["progress", progress === undefined ? undefined : `${Math.round(progress * 100)} %`],
    ["correlation id", correlationId && escapeHtml(correlationId)],
  ];
  const texts = [
    ["Last error", lastError],
    ["Payload", payloads ? payload : undefined],
    ["Result", payloads ? result : undefined],
  ];
  return [
    `<p><a href="?">All jobs</a> · ${renderLink({ name }, name)}</p><h2>${escapeHtml(id)}</h2>`,
    renderTable(escapeHtml(name), [], facts.filter(([, fact]) => fact !== undefined) as string[][]),
    ...texts.map(([title, text]) =>
      text === undefined ? "" : `<h3>${title}</h3><pre tabindex="0">${escapeHtml(text)}</pre>`
    ),
  ].join("\n");
}

function renderState(job: JobDetails): string {
  const text = describeState(job);
  return job.state === "dead" ? `<span class="dead">${text}</span>` : text;
}

function renderTime(time: string): string {
  return `<time datetime="${time}">${time.slice(0, 19).replace("T", " ")} UTC</time>`;
}

function renderLink(params: Readonly<Record<string, string>>, text: string): string {
  return `<a href="?${escapeHtml(String(new URLSearchParams(params)))}">${escapeHtml(text)}</a>`;
}

/** Renders a table. The cells are HTML. */
function renderTable(caption: string, heads: readonly string[], rows: readonly string[][]): string {
  const head = heads.map((text) => `<th scope="col">${text}</th>`).join("");
  const body = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`);
  return `<div class="scroll"><table><caption>${caption}</caption><thead><tr>${head}</tr></thead>` +
    `<tbody>${body.join("")}</tbody></table></div>`;
}

/** Builds the response. Browsers run no script of the page and use no style but its own. */
async function buildPage(statusCode: number, body: string): Promise<ProxyResult> {
  const hash = btoa(String.fromCharCode(...await sha256(STYLE)));
  return {
    statusCode,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy":
        `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
    },
    body: `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Jobs</title>` +
      `<meta name="viewport" content="width=device-width"><style>${STYLE}</style></head>` +
      `<body><h1>Jobs</h1>\n${body}\n</body></html>`,
  };
}

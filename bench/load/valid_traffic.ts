import { getJson, HttpClient } from "./http_client.ts";
import { getBody } from "./ledger.ts";
import { JSON_HEADERS, pick, type Run, sendAndJudge, sign } from "./traffic.ts";

const PASSWORD = "correct-horse-battery";
const LABELS = ["idea", "todo", "done"] as const;
/** From here on a client deletes, so that the database does not grow while memory is measured. */
const MAX_NOTES = 30;

interface Note {
  readonly id: string;
  title: string;
  labelId: string | null;
}

/** A user with a connection: writes, reads and deletes notes, signs out and in, and receives webhooks. */
export class ValidClient {
  readonly #run: Run;
  readonly #http: HttpClient;
  readonly #name: string;
  /** Notes of other users, which must not be found. */
  readonly #foreign: () => string | undefined;
  #email = "";
  #token: string | undefined;
  #count = 0;
  /** Whether a write of an unknown outcome makes lists unpredictable. */
  #isSure = true;
  readonly #notes: Note[] = [];
  #lastDelivery: string | undefined;

  constructor(run: Run, name: string, foreign: () => string | undefined) {
    this.#run = run;
    this.#name = name;
    this.#http = new HttpClient(run.port);
    this.#foreign = foreign;
  }

  /** A note of this user. */
  get anyNote(): string | undefined {
    return this.#notes.at(-1)?.id;
  }

  /** Sends one request after the other until the run ends. */
  async work(): Promise<void> {
    const { random } = this.#run;
    const choices = [
      [20, () => this.#notes.length < MAX_NOTES ? this.#create() : this.#delete()],
      [20, () => this.#list()],
      [20, () => this.#get()],
      [12, () => this.#change()],
      [6, () => this.#delete()],
      [3, () => this.#getMissing()],
      [3, () => this.#getForeign()],
      [6, () => this.#codeHost()],
      [2, () => this.#repeatDelivery()],
      [4, () => this.#payment()],
      [5, () => this.#welcome()],
      [5, () => this.#health()],
      [1, () => this.#signOut()],
      [0.3, () => this.#signUp()],
    ] as const;
    while (this.#run.isOn()) {
      await this.#run.pace();
      if (this.#email === "") await this.#signUp();
      else if (this.#token === undefined) await this.#signIn();
      else await pick<() => Promise<void>>(choices, random)();
    }
    this.#http.close();
  }

  #headers(extra: Record<string, string> = {}): Record<string, string> {
    return { Authorization: `Bearer ${this.#token}`, ...extra };
  }

  #send(
    kind: string,
    expected: readonly number[],
    call: Parameters<HttpClient["send"]>[0],
    usesDatabase = true,
  ) {
    return sendAndJudge(this.#run, this.#http, { kind, expected, usesDatabase }, call);
  }

  #nextTitle(): string {
    return `${this.#name} ${++this.#count} ÄÖ 'quoted' $1`;
  }

  async #signUp(): Promise<void> {
    const email = `${this.#name}-${++this.#count}@example.com`;
    const body = JSON.stringify({ name: this.#name, email, password: PASSWORD });
    const path = "/auth/sign-up/email";
    const { reply, went } = await this.#send("sign up", [200], {
      method: "POST",
      path,
      headers: JSON_HEADERS,
      body,
    });
    if (!went) return;
    this.#run.ledger.signedUp(email);
    // most users are made and forgotten: a client keeps its first one, whose notes it knows
    if (this.#email !== "") return;
    this.#email = email;
    this.#token = String(getJson(reply).token);
  }

  async #signIn(): Promise<void> {
    const body = JSON.stringify({ email: this.#email, password: PASSWORD });
    const path = "/auth/sign-in/email";
    const { reply, went } = await this.#send("sign in", [200], {
      method: "POST",
      path,
      headers: JSON_HEADERS,
      body,
    });
    if (went) this.#token = String(getJson(reply).token);
  }

  async #signOut(): Promise<void> {
    const headers = this.#headers(JSON_HEADERS);
    const call = { method: "POST", path: "/auth/sign-out", headers, body: "{}" };
    const { went } = await this.#send("sign out", [200], call);
    if (went) await this.#send("get with an ended session", [401], { path: "/notes", headers });
    this.#token = undefined;
  }

  async #create(): Promise<void> {
    const title = this.#nextTitle();
    const labelId = pick([[1, null], [1, LABELS[0]], [1, LABELS[1]]], this.#run.random);
    const { reply, went } = await this.#send("create note", [201], {
      method: "POST",
      path: "/notes",
      headers: this.#headers(JSON_HEADERS),
      body: JSON.stringify({ title, body: getBody(title), labelId }),
    });
    if (!went) {
      this.#isSure = false;
      return this.#run.ledger.perhapsCreated(title);
    }
    const id = String(getJson(reply).id);
    this.#run.ledger.created(id, title);
    this.#notes.push({ id, title, labelId });
    if (reply.headers.location !== `/notes/${id}`) {
      this.#run.outcomes.fault("create note: another Location than the note's");
    }
  }

  async #list(): Promise<void> {
    const { random } = this.#run;
    const limit = 1 + Math.floor(random() * 20);
    const label = random() < 0.3 ? LABELS[0] : undefined;
    const path = `/notes?limit=${limit}${label === undefined ? "" : `&label=${label}`}`;
    const { reply, went } = await this.#send("list notes", [200], {
      path,
      headers: this.#headers(),
    });
    if (!went) return;
    const titles = (getJson(reply).notes as { title: string }[]).map((note) => note.title);
    if (titles.some((title) => !title.startsWith(`${this.#name} `))) {
      this.#run.outcomes.fault("list notes: a note of another user");
    }
    const own = this.#notes.filter((note) => label === undefined || note.labelId === label);
    if (this.#isSure && titles.length !== Math.min(limit, own.length)) {
      this.#run.outcomes.fault("list notes: another number of notes than were written");
    }
  }

  async #get(): Promise<void> {
    const note = this.#someNote();
    if (note === undefined) return await this.#create();
    const { reply, went } = await this.#send("get note", [200], {
      path: `/notes/${note.id}`,
      headers: this.#headers(),
    });
    if (went && this.#isSure && getJson(reply).title !== note.title) {
      this.#run.outcomes.fault("get note: another title than was written last");
    }
  }

  async #change(): Promise<void> {
    const note = this.#someNote();
    if (note === undefined) return await this.#create();
    const title = this.#nextTitle();
    const { went } = await this.#send("change note", [200], {
      method: "PATCH",
      path: `/notes/${note.id}`,
      headers: this.#headers(JSON_HEADERS),
      body: JSON.stringify({ title, body: getBody(title) }),
    });
    if (went) {
      note.title = title;
      this.#run.ledger.changed(note.id, title);
    } else {
      this.#isSure = false;
      this.#run.ledger.perhapsChanged(note.id, title);
    }
  }

  async #delete(): Promise<void> {
    const note = this.#notes.shift();
    if (note === undefined) return await this.#create();
    const call = { method: "DELETE", path: `/notes/${note.id}`, headers: this.#headers() };
    const { went } = await this.#send("delete note", [204], call);
    if (went) return this.#run.ledger.deleted(note.id);
    this.#isSure = false;
    this.#run.ledger.perhapsDeleted(note.id);
  }

  async #getMissing(): Promise<void> {
    await this.#send("get a missing note", [404], {
      path: `/notes/${crypto.randomUUID()}`,
      headers: this.#headers(),
    });
  }

  async #getForeign(): Promise<void> {
    const id = this.#foreign() ?? crypto.randomUUID();
    await this.#send("get another user's note", [404], {
      path: `/notes/${id}`,
      headers: this.#headers(),
    });
  }

  async #codeHost(
    id = crypto.randomUUID() as string,
    kind = "webhook of the code host",
  ): Promise<void> {
    const body = JSON.stringify({ ref: "refs/heads/main", id });
    const { reply, went } = await this.#send(kind, [202], {
      method: "POST",
      path: "/hooks/code-host",
      headers: {
        ...JSON_HEADERS,
        "X-GitHub-Delivery": id,
        "X-Hub-Signature-256": `sha256=${sign(this.#run.secrets.CODE_HOST_WEBHOOK_SECRET, body)}`,
      },
      body,
    });
    if (!went) return;
    const repeated = id === this.#lastDelivery;
    if (getJson(reply).repeated !== repeated) {
      this.#run.outcomes.fault(`${kind}: repeated is not ${repeated}`);
    }
    this.#run.ledger.delivered(id);
    this.#lastDelivery = id;
  }

  async #repeatDelivery(): Promise<void> {
    await this.#codeHost(this.#lastDelivery, "webhook sent again");
  }

  async #payment(): Promise<void> {
    const id = `evt_${crypto.randomUUID()}`;
    const body = JSON.stringify({ id, type: "payment.settled" });
    const time = Math.floor(Date.now() / 1000);
    const signature = sign(this.#run.secrets.PAYMENTS_WEBHOOK_SECRET, `${time}.${body}`);
    const headers = { ...JSON_HEADERS, "Stripe-Signature": `t=${time},v1=${signature}` };
    const call = { method: "POST", path: "/hooks/payments", headers, body };
    if ((await this.#send("webhook of payments", [202], call)).went) this.#run.ledger.delivered(id);
  }

  async #welcome(): Promise<void> {
    await this.#send("welcome", [200], { path: "/welcome", headers: this.#headers() });
  }

  async #health(): Promise<void> {
    await this.#send("health", [200], { path: "/health" }, false);
  }

  #someNote(): Note | undefined {
    return this.#notes[Math.floor(this.#run.random() * this.#notes.length)];
  }
}

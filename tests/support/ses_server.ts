/** Server that speaks the part of SES's API (version 2) that sends mails. */
export interface SesServer {
  /** For `AWS_ENDPOINT_URL_SESV2`. */
  readonly url: string;
  /** Bodies of the calls of SendEmail. */
  // deno-lint-ignore no-explicit-any -- JSON of the API
  readonly sent: any[];
  /** Answers the next calls with an error. */
  fail(type: string, status: number, times?: number): void;
  stop(): Promise<void>;
}

/** Starts the server. */
export function startSesServer(): SesServer {
  const sent: unknown[] = [];
  let failure = { type: "", status: 0, times: 0 };
  const http = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const body = await request.json();
    const { pathname } = new URL(request.url);
    if (pathname !== "/v2/email/outbound-emails") return new Response("{}", { status: 404 });
    if (failure.times > 0) {
      failure = { ...failure, times: failure.times - 1 };
      return Response.json({ message: failure.type }, {
        status: failure.status,
        headers: { "x-amzn-errortype": failure.type },
      });
    }
    sent.push(body);
    return Response.json({ MessageId: `ses-${sent.length}` });
  });
  return {
    url: `http://127.0.0.1:${http.addr.port}`,
    sent,
    fail: (type, status, times = 1) => void (failure = { type, status, times }),
    stop: () => http.shutdown(),
  };
}

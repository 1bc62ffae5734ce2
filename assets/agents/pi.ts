// invar's guard for pi. Written by `invar install pi`; `invar uninstall pi` takes it away.
import { spawn } from "node:child_process"

const INVAR = {{INVAR}}
const TIMEOUT = 20000

// Asks invar. Whatever fails is a denial.
function ask(event: any, ctx: any): Promise<any> {
  const payload = {
    shim: 1,
    event,
    ctx: { cwd: ctx.cwd, sessionId: ctx.sessionManager?.getSessionId?.() ?? "unknown" },
  }
  return new Promise((resolve) => {
    const fail = (why: string) => resolve({ block: true, reason: `invar is unreachable (${why}); action refused` })
    let child: any
    try {
      child = spawn(INVAR, ["hook", "pi"], { stdio: ["pipe", "pipe", "pipe"] })
    } catch (error: any) {
      return fail(error.message)
    }
    let out = "", err = ""
    const timer = setTimeout(() => { child.kill("SIGKILL"); fail("no answer in time") }, TIMEOUT)
    child.on("error", (error: any) => { clearTimeout(timer); fail(error.message) })
    child.stdout.on("data", (data: any) => { out += data })
    child.stderr.on("data", (data: any) => { err += data })
    child.stdin.on("error", () => {})
    child.on("close", (code: number) => {
      clearTimeout(timer)
      if (code !== 0) return fail(err.trim() || `exit code ${code}`)
      if (out.trim() === "") return resolve({})
      try { resolve(JSON.parse(out)) } catch { fail("an answer that is no JSON") }
    })
    child.stdin.end(JSON.stringify(payload))
  })
}

export default function (pi: any) {
  pi.on("tool_call", async (event: any, ctx: any) => {
    const { type, toolName, toolCallId, input } = event
    const answer = await ask({ type, toolName, toolCallId, input }, ctx)
    if (answer.halt) ctx.abort?.()
    if (answer.block) return { block: true, reason: answer.reason }
  })
  pi.on("tool_result", async (event: any, ctx: any) => {
    const { type, toolName, toolCallId, input } = event
    const answer = await ask({ type, toolName, toolCallId, input }, ctx)
    if (answer.halt) ctx.abort?.()
    // What was found is told with the result of the tool.
    if (answer.block) return { content: [...(event.content ?? []), { type: "text", text: answer.reason }] }
  })
  pi.on("before_agent_start", async (event: any, ctx: any) => {
    const answer = await ask({ type: event.type, prompt: event.prompt }, ctx)
    if (answer.halt || answer.block) ctx.abort?.()
    if (answer.context) return { message: { customType: "invar", content: answer.context, display: false } }
  })
  pi.on("session_start", async (event: any, ctx: any) => { await ask({ type: event.type }, ctx) })
  pi.on("agent_end", async (event: any, ctx: any) => { await ask({ type: event.type }, ctx) })
  pi.on("session_shutdown", async (event: any, ctx: any) => { await ask({ type: event.type }, ctx) })
}

// invar's guard for opencode: one file for 1.x (`server`) and 2.x (`setup`).
// Written by `invar install opencode`; `invar uninstall opencode` takes it away.
import { spawn } from "node:child_process"

const INVAR = {{INVAR}}
const TIMEOUT = 20000
// Which session started which, as far as it was told.
const parents = new Map()

// Asks invar. Whatever fails is a denial.
function ask(payload) {
  return new Promise((resolve) => {
    const fail = (why) => resolve({ verdict: "deny", reason: `invar is unreachable (${why}); action refused` })
    let child
    try {
      child = spawn(INVAR, ["hook", "opencode"], { stdio: ["pipe", "pipe", "pipe"] })
    } catch (error) {
      return fail(error.message)
    }
    let out = "", err = ""
    const timer = setTimeout(() => { child.kill("SIGKILL"); fail("no answer in time") }, TIMEOUT)
    child.on("error", (error) => { clearTimeout(timer); fail(error.message) })
    child.stdout.on("data", (data) => { out += data })
    child.stderr.on("data", (data) => { err += data })
    child.stdin.on("error", () => {})
    child.on("close", (code) => {
      clearTimeout(timer)
      if (code !== 0) return fail(err.trim() || `exit code ${code}`)
      try {
        const answer = JSON.parse(out)
        if (!["allow", "warn", "deny", "halt"].includes(answer.verdict)) return fail("an answer without a verdict")
        resolve(answer)
      } catch {
        fail("an answer that is no JSON")
      }
    })
    child.stdin.end(JSON.stringify({ shim: 1, ...payload }))
  })
}

// Denies by throwing, which is what the model reads.
async function decide(payload, halt) {
  const answer = await ask(payload)
  if (answer.verdict === "halt") {
    try { await halt() } catch {}
  }
  if (answer.verdict === "deny" || answer.verdict === "halt") throw new Error(answer.reason)
  return answer
}

async function server({ client, directory, worktree }) {
  const base = (hook) => ({ hook, directory, worktree })
  const abort = (id) => () => client.session.abort({ path: { id } })
  const parentOf = async (id) => {
    if (!parents.has(id)) {
      let found
      try { found = (await client.session.get({ path: { id } }))?.data?.parentID } catch {}
      parents.set(id, found)
    }
    return parents.get(id)
  }
  return {
    "tool.execute.before": async (input, output) => {
      const parent = await parentOf(input.sessionID)
      await decide({ ...base("tool.execute.before"), parent, input, output: { args: output.args } }, abort(input.sessionID))
    },
    "tool.execute.after": async (input, output) => {
      const answer = await ask({ ...base("tool.execute.after"), input: { ...input, args: input.args ?? {} } })
      if (answer.verdict === "halt") {
        try { await abort(input.sessionID)() } catch {}
      }
      // What was found is told with the result of the tool.
      if (answer.verdict !== "allow" && output) output.output = `${output.output ?? ""}\n${answer.reason}`
      else if (answer.context && output) output.output = `${output.output ?? ""}\n${answer.context}`
    },
    "chat.message": async (input, output) => {
      const answer = await decide({ ...base("chat.message"), input: { sessionID: input.sessionID } }, async () => {})
      const text = output?.parts?.find((part) => part.type === "text")
      if (answer.context && text) text.text = `${answer.context}\n\n${text.text}`
    },
    event: async ({ event }) => {
      const info = event?.properties?.info
      if (event?.type === "session.created" && info?.id) parents.set(info.id, info.parentID)
      if (["session.created", "session.idle", "session.deleted"].includes(event?.type)) await ask({ ...base("event"), event })
    },
  }
}

// 2.x calls `setup`; 1.x calls it too, and has no `ctx.tool`.
async function setup(ctx) {
  if (!ctx?.tool?.hook) return
  const directory = ctx.directory ?? process.cwd()
  await ctx.tool.hook("execute.before", async (event) => {
    const sent = { sessionID: event.sessionID, agent: event.agent, id: event.id, tool: event.tool, input: event.input }
    await decide({ hook: "v2.tool.execute.before", directory, event: sent }, () => ctx.session.interrupt({ sessionID: event.sessionID }))
  })
  try {
    await ctx.tool.hook("execute.after", async (event) => {
      const sent = { sessionID: event.sessionID, agent: event.agent, id: event.id, tool: event.tool, input: event.input ?? {} }
      await ask({ hook: "v2.tool.execute.after", directory, event: sent })
    })
  } catch {}
}

export default { id: "invar", server, setup }

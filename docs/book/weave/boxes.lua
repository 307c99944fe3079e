-- Divs of these classes can be folded; a heading is a link to itself.

local BOXES = { -- a label, and the page that has them all
  tutorial = {"Where a tutorial differs", "articles.html", "the map"},
  elsewhere = {"Where other programs differ"},
  deviation = {"Different from the paper", "deviations.html", "all departures"},
}
local ANSWERS = {answer = "Answer", claimed = "The answers, as the tests claim them",
  beside = "Also in the file: "}

local function html(text) return pandoc.RawInline("html", text) end

local function folded(attributes, summary, blocks)
  summary:insert(1, html("<details" .. attributes .. "><summary>"))
  summary:insert(html("</summary>"))
  blocks:insert(1, pandoc.Plain(summary))
  blocks:insert(pandoc.RawBlock("html", "</details>"))
  return blocks
end

-- What is strong at the beginning of a box is its title.
function Div(div)
  local class, blocks = div.classes[1], div.content
  if ANSWERS[class] then
    local summary = ANSWERS[class] .. (div.attributes.of or "")
    return folded("", pandoc.List{html(summary)}, blocks)
  end
  if not BOXES[class] then return end
  local label, page, more = table.unpack(BOXES[class])
  local summary, first, last = pandoc.List{html(label)}, blocks[1].content, blocks[#blocks].content
  if first[1].t == "Strong" then
    summary:extend{html(": "), table.unpack(first:remove(1).content)}
    if first[1] and first[1].t == "Space" then first:remove(1) end
    summary[#summary].text = summary[#summary].text:gsub("%.$", "")
  end
  if page then last:insert(html((' <a href="%s">(%s)</a>'):format(page, more))) end
  return folded(' class="box ' .. class .. '"', summary, blocks)
end

function Header(header)
  local linked = header.level == 1
  header.content:walk{Link = function() linked = true end}
  if not linked then header.content = {pandoc.Link(header.content, "#" .. header.identifier)} end
  return header
end

/*! This file contains

preact: Copyright (c) 2015-present Jason Miller
@preact/signals: Copyright (c) 2022-present Preact Team
@preact/signals-core: Copyright (c) 2022-present Preact Team

The MIT License (MIT)

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
*/

// node_modules/preact/dist/preact.mjs
var n;
var t;
var r;
var u;
var i;
var f;
var o;
var e;
var l;
var c;
var a;
var s;
var h = /* @__PURE__ */ Symbol.for("pv");
var p = {};
var y = [];
var v = /^m(i|n|o|s|text|space)$/;
var w = Array.isArray;
var d = y.slice;
var _ = Object.assign;
function g(n3) {
  n3 && n3.parentNode && n3.remove();
}
function k(n3, t4, r4) {
  var u4, i4, f5, o5 = {}, e4 = arguments.length;
  for (f5 in t4) "key" == f5 ? u4 = t4[f5] : "ref" == f5 && "function" != typeof n3 ? i4 = t4[f5] : o5[f5] = t4[f5];
  return e4 > 2 && (o5.children = e4 > 3 ? d.call(arguments, 2) : r4), m(n3, o5, u4, i4, null);
}
function m(r4, u4, i4, f5, o5) {
  var e4 = { type: r4, props: u4, key: i4, ref: f5, __k: null, __: null, __b: 0, __e: null, __c: null, constructor: h, __v: o5 || ++t, __i: -1, __u: 0 };
  return !o5 && n.vnode && n.vnode(e4), e4;
}
function $(n3) {
  return n3.children;
}
function x(n3, t4) {
  this.props = n3, this.context = t4, this.__g = 0;
}
function S(n3, t4) {
  if (null == t4) return n3.__ && S(n3.__, n3.__i + 1);
  for (var r4; t4 < n3.__k.length; t4++) if ((r4 = n3.__k[t4]) && r4.__e) return r4.__e;
  return "function" != typeof n3.type || n3.props.__P ? null : S(n3);
}
function C(t4) {
  var r4, u4 = t4.__v, i4 = u4.__e, f5 = [], o5 = [], e4 = t4.__P;
  e4 && ((r4 = _({ constructor: h }, u4)).__v = u4.__v + 1, n.vnode && n.vnode(r4), z(e4, r4, u4, t4.__n, e4.namespaceURI, 32 & u4.__u ? [i4] : null, f5, i4 || S(u4), 32 & u4.__u, o5), r4.__v = u4.__v, r4.__.__k[r4.__i] = r4, E(f5, r4, o5), u4.__ = u4.__e = null, r4.__e != i4 && j(r4));
}
function j(n3) {
  if ((n3 = n3.__) && n3.__c && !n3.props.__P) return n3.__e = null, n3.__k.some(function(t4) {
    return t4 && (n3.__e = t4.__e);
  }), j(n3);
}
function L(t4) {
  (8 & t4.__g || (t4.__g |= 8, u.push(t4), f++)) && i == n.debounceRendering || ((i = n.debounceRendering) || queueMicrotask)(H);
}
function H() {
  try {
    for (var n3, t4 = 1; u.length; ) u.length > t4 && u.sort(o), n3 = u.shift(), t4 = u.length, 8 & n3.__g && C(n3);
  } finally {
    (f = u.length) && (i || queueMicrotask)(H);
  }
}
function I(n3, t4, r4, u4, i4, f5, o5, e4, l4, c4, a5) {
  var s4, h5, v4, w5, d5, _5, g5 = u4.__k || y, k4 = t4.length;
  for (l4 = q(r4, t4, g5, l4, k4), s4 = 0; s4 < k4; s4++) null != (v4 = r4.__k[s4]) && (h5 = ~v4.__i && g5[v4.__i] || p, v4.__i = s4, _5 = z(n3, v4, h5, i4, f5, o5, e4, l4, c4, a5), w5 = v4.__e, (h5.ref != v4.ref || 8 & h5.__u) && (h5.ref && G(h5.ref, null, v4, h5), v4.ref && a5.push(v4.ref, v4.__c || w5, v4)), d5 = d5 || w5, 4 & v4.__u ? (l4 = A(v4, l4, n3, !h5.__v), h5.__e && (h5.__e = null)) : "function" == typeof v4.type && void 0 !== _5 ? l4 = _5 : w5 && (l4 = w5.nextSibling), v4.__u &= -21);
  return r4.__e = d5, l4;
}
function q(n3, t4, r4, u4, i4) {
  var f5, o5, e4, l4, c4, a5, s4, p5, y5, v4 = r4.length, d5 = v4, _5 = 0, g5 = 0, k4 = n3.__k = Array(i4);
  for (f5 = 0; f5 < i4; f5++) null != (o5 = t4[f5]) && "boolean" != typeof o5 && "function" != typeof o5 ? ("object" != typeof o5 || o5.constructor === String ? o5 = k4[f5] = m(null, o5) : w(o5) ? o5 = k4[f5] = m($, { children: o5 }) : o5.constructor === h && o5.__b ? o5 = k4[f5] = m(o5.type, o5.props, o5.key, o5.ref, o5.__v) : k4[f5] = o5, l4 = f5 + _5, o5.__ = n3, o5.__b = n3.__b + 1, e4 = null, ~(c4 = o5.__i = P(o5, r4, l4, d5)) && (d5--, (e4 = r4[c4]) && (e4.__u |= 2)), e4 && e4.__v ? (o5.__u |= 16, c4 == l4 - 1 ? _5-- : c4 == l4 + 1 ? _5++ : c4 != l4 && (c4 > l4 ? _5-- : _5++, g5 = 1)) : (~c4 || (i4 > v4 ? _5-- : i4 < v4 && _5++), "function" != typeof o5.type && (o5.__u |= 4))) : k4[f5] = null;
  if (g5) {
    for (a5 = [], s4 = [], f5 = 0; f5 < i4; f5++) if ((o5 = k4[f5]) && 16 & o5.__u) {
      for (_5 = 0, p5 = a5.length; _5 < p5; ) a5[y5 = _5 + p5 >> 1] < o5.__i ? _5 = y5 + 1 : p5 = y5;
      a5[_5] = o5.__i, s4[f5] = _5 + 1;
    }
    for (_5 = a5.length; f5--; ) s4[f5] && (s4[f5] == _5 ? _5-- : k4[f5].__u |= 4);
  }
  if (d5) for (f5 = 0; f5 < v4; f5++) !(e4 = r4[f5]) || 2 & e4.__u || (e4.__e == u4 && (u4 = S(e4)), J(e4, e4));
  return u4;
}
function A(n3, t4, r4, u4) {
  var i4, f5, o5, e4;
  if ("function" == typeof n3.type) {
    if (n3.props.__P) return t4;
    if (i4 = n3.__k) for (f5 = 0; f5 < i4.length; f5++) i4[f5] && (i4[f5].__ = n3, t4 = A(i4[f5], t4, r4, false));
    return t4;
  }
  for (t4 && !t4.parentNode && (t4 = S(n3)) && !t4.parentNode && (t4 = null), o5 = n3.__e, e4 = t4; e4 && 8 == e4.nodeType; ) e4 = e4.nextSibling;
  for (o5 != e4 && (!u4 && r4.moveBefore && o5.parentNode ? r4.moveBefore(o5, t4) : r4.insertBefore(o5, t4 || null)), t4 = o5; (t4 = t4 && t4.nextSibling) && 8 == t4.nodeType && !t4.data.startsWith("$s"); ) ;
  return t4;
}
function P(n3, t4, r4, u4) {
  var i4, f5 = n3.key, o5 = n3.type, e4 = t4[r4], l4 = e4 && !(2 & e4.__u);
  if (null === e4 && null == f5 || l4 && f5 == e4.key && o5 == e4.type) return r4;
  if (u4 > (l4 ? 1 : 0)) {
    for (i4 = r4 - 1; i4 >= 0; i4--) if ((e4 = t4[i4]) && !(2 & e4.__u) && f5 == e4.key && o5 == e4.type) return i4;
    for (i4 = r4 + 1; i4 < t4.length; i4++) if ((e4 = t4[i4]) && !(2 & e4.__u) && f5 == e4.key && o5 == e4.type) return i4;
  }
  return -1;
}
function T(n3, t4, r4) {
  null == r4 && (r4 = ""), "-" == t4[0] ? n3.setProperty(t4, r4) : n3[t4] = r4;
}
function N(n3, t4, r4, u4, i4) {
  var f5, o5;
  if ("style" == t4) if ("string" == typeof r4) n3.style.cssText = r4;
  else {
    if ("string" == typeof u4 && (n3.style.cssText = u4 = ""), u4) for (t4 in u4) r4 && t4 in r4 || T(n3.style, t4);
    if (r4) for (t4 in r4) u4 && r4[t4] == u4[t4] || T(n3.style, t4, r4[t4]);
  }
  else if ("o" == t4[0] && "n" == t4[1]) "function" != typeof r4 && (r4 = null), "function" != typeof u4 && (u4 = null), (n3.__e || (n3.__e = {}))[t4] = r4, r4 && u4 || (o5 = a[t4] || (a[t4] = V(t4)), (n3.__a || (n3.__a = {}))[t4] = c, f5 = t4 != (t4 = t4.replace(l, "$1")), (t4 = t4.slice(2))[0] < "a" && (t4 = t4.toLowerCase()), r4 ? n3.addEventListener(t4, o5, f5) : n3.removeEventListener(t4, o5, f5));
  else {
    if ("http://www.w3.org/2000/svg" == i4) t4 = t4.replace(/xlink(H|:h)/, "h").replace(/sName$/, "s");
    else if ("width" != t4 && "height" != t4 && "href" != t4 && "list" != t4 && "form" != t4 && "tabIndex" != t4 && "download" != t4 && "rowSpan" != t4 && "colSpan" != t4 && "role" != t4 && "popover" != t4 && t4 in n3) try {
      return void (n3[t4] = null == r4 ? "" : r4);
    } catch (n4) {
    }
    if ("function" == typeof r4) return;
    null == r4 || false === r4 && "-" != t4[4] ? n3.removeAttribute(t4) : n3.setAttribute(t4, "popover" == t4 && 1 == r4 ? "" : r4);
  }
}
function V(t4) {
  return function(r4) {
    var u4 = this.__e;
    if (u4) {
      if (u4 = u4[t4], null == r4[e]) r4[e] = c++;
      else if (r4[e] < this.__a[t4]) return;
      return u4(n.event ? n.event(r4) : r4);
    }
  };
}
function z(t4, r4, u4, i4, f5, o5, e4, l4, c4, a5) {
  var s4, p5, v4, d5, k4, b3, m5, M2, C3, j3, L2, H2, q3, A4, O2, P3, T5, N2, V2 = r4.type;
  if (r4.constructor !== h) return null;
  128 & u4.__u && (c4 = 32 & u4.__u, s4 = u4.__c.__z) && (r4.__u |= c4, p5 = o5 = [], 8 == s4.nodeType ? l4 = B(s4, o5) : o5.push(s4), l4 = o5[0] || l4), (s4 = n.__b) && s4(r4);
  n: if ("function" == typeof V2) {
    v4 = e4.length;
    try {
      if (M2 = r4.props, C3 = (s4 = V2.prototype) && s4.render, j3 = (s4 = V2.contextType) && i4[s4.__c], L2 = s4 ? j3 ? j3.props.value : s4.__ : i4, (d5 = u4.__c) ? (r4.__c = d5, 2 & d5.__g && (d5.__g |= 1)) : (C3 ? r4.__c = d5 = new V2(M2, L2) : (r4.__c = d5 = new x(M2, L2), d5.constructor = V2, d5.render = K), j3 && j3.sub(d5), d5.state || (d5.state = {}), d5.__n = i4, d5.__g |= 8, d5.__h = [], d5.__k = []), C3 && (d5.__s || (d5.__s = d5.state), V2.getDerivedStateFromProps && (d5.__s == d5.state && (d5.__s = _({}, d5.__s)), _(d5.__s, V2.getDerivedStateFromProps(M2, d5.__s)))), k4 = d5.props, b3 = d5.state, d5.__v = r4, u4.__c) {
        if (M2 !== k4 && C3 && !V2.getDerivedStateFromProps && d5.componentWillReceiveProps && d5.componentWillReceiveProps(M2, L2), r4.__v == u4.__v && !(8 & d5.__g) || !(4 & d5.__g) && d5.shouldComponentUpdate && false === d5.shouldComponentUpdate(M2, d5.__s, L2)) {
          r4.__v != u4.__v && (d5.props = M2, d5.state = d5.__s, d5.__g &= -9), r4.__e = u4.__e, r4.__k = u4.__k, r4.__k.some(function(n3) {
            n3 && (n3.__ = r4);
          }), y.push.apply(d5.__h, d5.__k), d5.__k = [], d5.__h.length && e4.push(d5), l4 = S(u4);
          break n;
        }
        d5.componentWillUpdate && d5.componentWillUpdate(M2, d5.__s, L2), C3 && d5.componentDidUpdate && d5.__h.push(function() {
          d5.componentDidUpdate(k4, b3, m5);
        });
      } else C3 && !V2.getDerivedStateFromProps && d5.componentWillMount && d5.componentWillMount(), C3 && d5.componentDidMount && d5.__h.push(d5.componentDidMount);
      d5.context = L2, d5.props = M2, d5.__P = t4, d5.__g &= -5, H2 = n.__r, q3 = C3 ? 25 : 0;
      do {
        d5.__g &= -9, H2 && H2(r4), s4 = d5.render(d5.props, d5.state = d5.__s, d5.context);
      } while (8 & d5.__g && ++q3 < 25);
      C3 && (y.push.apply(d5.__h, d5.__k), d5.__k = []), d5.state = d5.__s, d5.getChildContext && (i4 = _({}, i4, d5.getChildContext())), C3 && u4.__c && d5.getSnapshotBeforeUpdate && (m5 = d5.getSnapshotBeforeUpdate(k4, b3)), A4 = s4 && s4.type === $ && null == s4.key ? s4.props.children : s4, M2.__P && (s4 = l4, f5 = (t4 = M2.__P).namespaceURI, c4 = o5 = null, u4.props && u4.props.__P != t4 && (u4.__k.some(function(n3) {
        n3 && J(n3, n3);
      }), u4.__k = null), l4 = u4.__k ? S(u4, 0) : null), l4 = I(t4, w(A4) ? A4 : [A4], r4, u4, i4, f5, o5, e4, l4, c4, a5), M2.__P && (r4.__e = null, l4 = s4), r4.__u &= -161, p5 && p5.some(g), d5.__h.length && e4.push(d5), 1 & d5.__g && (d5.__g &= -4);
    } catch (t5) {
      if (e4.length = v4, r4.__v = null, c4 || o5) if (t5 && t5.then) {
        if (r4.__u |= 128 | c4, o5) {
          for (~(T5 = o5.indexOf(l4 || void 0)) || (T5 = o5.length); (N2 = o5[T5 - 1]) && 8 == N2.nodeType; ) T5--;
          for (; T5 < o5.length; T5++) if (N2 = o5[T5]) if (o5[T5] = null, O2) {
            if (N2 == P3) break;
          } else {
            if (8 != N2.nodeType) break;
            N2.data.startsWith("$s") && (P3 = B(O2 = N2));
          }
        }
        if (!O2) {
          for (; l4 && 8 == l4.nodeType && l4.nextSibling; ) l4 = l4.nextSibling;
          O2 = l4;
        }
        (s4 = B(O2 = r4.__c.__z || (r4.__c.__z = O2))) ? (r4.__e = O2, l4 = s4) : r4.__e = l4, l4 = l4 && l4.nextSibling;
      } else o5 && o5.some(g);
      else r4.__e = u4.__e;
      r4.__k || (r4.__k = u4.__k || []), t5 && t5.then || D(r4), n.__e(t5, r4, u4);
    }
  } else l4 = r4.__e = F(u4.__e, r4, u4, i4, f5, o5, e4, c4, a5, t4);
  return (s4 = n.diffed) && s4(r4), l4;
}
function B(n3, t4) {
  if (n3 && 8 == n3.nodeType && n3.data.startsWith("$s")) for (var r4 = 1; n3 = n3.nextSibling; ) {
    if (8 == n3.nodeType) {
      if (n3.data.startsWith("$s")) r4++;
      else if (n3.data.startsWith("/$s") && !--r4) return n3;
    }
    t4 && t4.push(n3);
  }
}
function D(n3) {
  n3 && (n3.__c && (n3.__c.__g |= 4), n3.__k && n3.__k.some(D));
}
function E(t4, r4, u4) {
  for (var i4 = 0; i4 < u4.length; ) G(u4[i4++], u4[i4++], u4[i4++]);
  n.__c && n.__c(r4, t4), t4.some(function(r5) {
    try {
      t4 = r5.__h, r5.__h = [], t4.some(function(n3) {
        n3.call(r5);
      });
    } catch (t5) {
      n.__e(t5, r5.__v);
    }
  });
}
function F(t4, r4, u4, i4, f5, o5, e4, l4, c4, a5) {
  var s4, h5, y5, _5, k4, b3, m5, M2, $2 = u4.props || p, x4 = r4.props, C3 = r4.type;
  if ("svg" == C3 ? f5 = "http://www.w3.org/2000/svg" : "math" == C3 ? f5 = "http://www.w3.org/1998/Math/MathML" : f5 || (f5 = "http://www.w3.org/1999/xhtml"), o5) {
    for (s4 = 0; s4 < o5.length; s4++) if ((k4 = o5[s4]) && (C3 ? k4.localName == C3 : 3 == k4.nodeType)) {
      t4 = k4, o5[s4] = null;
      break;
    }
  }
  if (!t4) {
    if (M2 = a5.ownerDocument || document, !C3) return M2.createTextNode(x4);
    t4 = M2.createElementNS(f5, C3, x4.is ? x4 : a5), l4 && (n.__m && n.__m(r4, o5), l4 = false), o5 = null;
  }
  if (C3) {
    if (a5 = "template" == C3 && t4.content || t4, o5 = "textarea" == C3 && null != x4.defaultValue ? null : o5 && d.call(a5.childNodes), !l4 && o5) for ($2 = {}, s4 = 0; s4 < t4.attributes.length; s4++) $2[(k4 = t4.attributes[s4]).name] = k4.value;
    for (s4 in $2) k4 = $2[s4], "dangerouslySetInnerHTML" == s4 ? y5 = k4 : "children" == s4 || s4 in x4 || "value" == s4 && "defaultValue" in x4 || "checked" == s4 && "defaultChecked" in x4 || N(t4, s4, null, k4, f5);
    for (s4 in x4) k4 = x4[s4], "children" == s4 ? _5 = k4 : "dangerouslySetInnerHTML" == s4 ? h5 = k4 : "value" == s4 ? b3 = k4 : "checked" == s4 ? m5 = k4 : l4 && "function" != typeof k4 || $2[s4] === k4 || N(t4, s4, k4, $2[s4], f5);
    h5 ? (l4 || y5 && (h5.__html == y5.__html || h5.__html == t4.innerHTML) || (t4.innerHTML = h5.__html), r4.__k = []) : (y5 && (t4.textContent = ""), ("foreignObject" == C3 || "http://www.w3.org/1998/Math/MathML" == f5 && v.test(C3)) && (f5 = "http://www.w3.org/1999/xhtml"), I(a5, w(_5) ? _5 : [_5], r4, u4, i4, f5, o5, e4, o5 ? o5[0] : u4.__k && S(u4, 0), l4, c4), o5 && o5.some(g)), l4 && "textarea" != C3 || (s4 = "value", "progress" == C3 && null == b3 ? t4.removeAttribute(s4) : null == b3 || b3 === t4[s4] && ("progress" != C3 || b3) || N(t4, s4, b3, $2[s4], f5), s4 = "checked", null != m5 && m5 != t4[s4] && N(t4, s4, m5, $2[s4], f5));
  } else $2 === x4 || l4 && t4.data == x4 || (t4.data = x4);
  return t4;
}
function G(t4, r4, u4, i4) {
  try {
    "function" == typeof t4 ? r4 ? r4.__x = t4(r4) || 1 : i4 && (i4 = i4.__c || i4.__e) && (r4 = i4.__x) && (i4.__x = null, "function" == typeof r4 ? r4() : t4(null)) : t4.current = r4;
  } catch (t5) {
    n.__e(t5, u4);
  }
}
function J(t4, r4, u4) {
  var i4, f5, o5, e4;
  if (n.unmount && n.unmount(t4), !(i4 = t4.ref) || i4.current && i4.current != t4.__e || G(i4, null, r4, t4), i4 = t4.__c) {
    if (i4.componentWillUnmount) try {
      i4.componentWillUnmount();
    } catch (t5) {
      n.__e(t5, r4);
    }
    i4.__P = i4.__n = null;
  }
  if (i4 = t4.__k) for (e4 = 0; e4 < i4.length; e4++) i4[e4] && J(i4[e4], r4, "function" != typeof t4.type || u4 && !t4.props.__P);
  !u4 && (i4 = t4.__c) && (i4 = i4.__z) && (f5 = B(i4, o5 = [])) && (i4 == t4.__e && o5.some(g), g(f5), g(i4)), u4 || g(t4.__e), t4.__e = t4.__c = t4.__ = null;
}
function K(n3, t4, r4) {
  return this.constructor(n3, r4);
}
function Q(t4, r4) {
  var u4, i4, f5, o5;
  n.__ && n.__(t4, r4), 9 == r4.nodeType && (r4 = r4.documentElement), i4 = (u4 = t4 && 32 & t4.__u) ? null : r4.__k, r4.__k = m($, { children: [t4] }), f5 = [], o5 = [], z(r4, r4.__k, i4 || p, p, r4.namespaceURI, i4 ? null : r4.firstChild ? d.call(r4.childNodes) : null, f5, i4 ? i4.__e : r4.firstChild, u4, o5), E(f5, r4.__k, o5), r4.__k.props.children = null;
}
n = { __e: function(n3, t4, r4, u4) {
  for (var i4, o5, e4; t4 = t4.__; ) if ((i4 = t4.__c) && !(1 & i4.__g)) {
    i4.__g |= 4;
    try {
      if ((e4 = (o5 = i4.constructor) && o5.getDerivedStateFromError) && i4.setState(o5.getDerivedStateFromError(n3)), i4.componentDidCatch && (i4.componentDidCatch(n3, u4 || {}), e4 = 1), e4 && 8 & i4.__g) return void (i4.__g |= 2);
    } catch (t5) {
      n3 = t5;
    }
  }
  throw f = 0, n3;
} }, t = 0, r = function(n3) {
  return null != n3 && n3.constructor === h;
}, x.prototype.setState = function(n3, t4) {
  var r4 = this.__s;
  r4 && r4 != this.state || (r4 = this.__s = _({}, this.state)), "function" == typeof n3 && (n3 = n3(_({}, r4), this.props)), n3 && (_(r4, n3), this.__v && (t4 && this.__k.push(t4), L(this)));
}, x.prototype.forceUpdate = function(n3) {
  this.__v && (this.__g |= 4, n3 && this.__h.push(n3), L(this));
}, x.prototype.render = $, u = [], f = 0, o = function(n3, t4) {
  return n3.__v.__b - t4.__v.__b;
}, e = /* @__PURE__ */ Symbol(), l = /(PointerCapture)$|Capture$/i, c = 0, a = {}, s = 0;

// node_modules/preact/hooks/dist/hooks.mjs
var t2;
var r2;
var u2;
var i2;
var o2 = Object.is;
var f2 = 0;
var c2 = [];
var e2 = [];
var a2 = n;
var v2 = a2.__b;
var l2 = a2.__r;
var m2 = a2.diffed;
var h2 = a2.__c;
var s2 = a2.unmount;
var p2 = a2.__;
function y2(n3, t4) {
  a2.__h && a2.__h(r2, n3, f2 || t4), f2 = 0;
  var u4 = r2.__H || (r2.__H = { __: [], __h: [] });
  return n3 >= u4.__.length && u4.__.push({}), u4.__[n3];
}
function d2(n3) {
  return f2 = 1, _2(G2, n3);
}
function _2(n3, u4, i4) {
  var f5 = y2(t2++, 2);
  if (f5.t = n3, !f5.__c && (f5.__ = [i4 ? i4(u4) : G2(void 0, u4), function(n4) {
    var t4 = (f5.__N || f5.__)[0], r4 = f5.t(t4, n4);
    o2(t4, r4) || (f5.__N = [r4, f5.__[1]], f5.__c.setState({}));
  }], f5.__c = r2, !r2.__f)) {
    r2.__f = true;
    var c4 = r2.shouldComponentUpdate;
    r2.shouldComponentUpdate = function(n4, t4, r4) {
      var u5 = this.__H;
      if (!u5) return true;
      var i5 = false, f6 = this.props != n4;
      if (u5.__.some(function(n5) {
        n5.__N && (i5 = true, o2(n5.__[0], n5.__N[0]) || (f6 = true));
      }), c4) {
        var e4 = c4.call(this, n4, t4, r4);
        return i5 ? e4 || f6 : e4;
      }
      return !i5 || f6;
    };
  }
  return f5.__;
}
function A2(n3, u4) {
  var i4 = y2(t2++, 3);
  !a2.__s && E2(i4.__H, u4) && (i4.__P = true, i4.__ = n3, i4.u = u4, r2.__H.__h.push(i4));
}
function F2(n3, u4) {
  var i4 = y2(t2++, 4);
  !a2.__s && E2(i4.__H, u4) && (i4.__P = false, i4.__ = n3, i4.u = u4, r2.__h.push(i4));
}
function T2(n3) {
  return f2 = 5, w2(function() {
    return { current: n3 };
  }, []);
}
function w2(n3, r4) {
  var u4 = y2(t2++, 7);
  return E2(u4.__H, r4) && (u4.__ = n3(), u4.__H = r4), u4.__;
}
function P2() {
  var n3 = y2(t2++, 11);
  if (!n3.__) {
    for (var u4 = r2.__v; !u4.__m && u4.__; ) u4 = u4.__;
    var i4 = u4.__m || (u4.__m = [0, 0]);
    n3.__ = "P" + i4[0] + "-" + i4[1]++;
  }
  return n3.__;
}
function g2() {
  var n3;
  do {
    for (; n3 = e2.shift(); ) try {
      C2(n3);
    } catch (t5) {
      a2.__e(t5, { __: (n3 = n3.__P) && n3.__v });
    }
    for (; n3 = c2.shift(); ) {
      var t4 = n3.__H;
      if (n3.__P && t4) try {
        t4.__h.some(C2), t4.__h.some(D2), t4.__h = [];
      } catch (r4) {
        t4.__h = [], a2.__e(r4, n3.__v);
      }
    }
  } while (e2.length);
}
a2.__b = function(n3) {
  r2 = null, v2 && v2(n3);
}, a2.__ = function(n3, t4) {
  n3 && t4.__k && t4.__k.__m && (n3.__m = t4.__k.__m), p2 && p2(n3, t4);
}, a2.__r = function(n3) {
  l2 && l2(n3), t2 = 0;
  var i4 = (r2 = n3.__c).__H;
  i4 && (u2 == r2 ? r2.__h = [] : (i4.__h.some(C2), i4.__h.some(D2), t2 = 0), i4.__h = [], i4.__.some(function(n4) {
    n4.__N && (n4.__ = n4.__N), n4.u = n4.__N = void 0;
  })), u2 = r2;
}, a2.diffed = function(n3) {
  m2 && m2(n3);
  var t4 = n3.__c;
  t4 && t4.__H && (t4.__H.__h.length && B2(c2.push(t4)), t4.__H.__.some(function(n4) {
    n4.u && (n4.__H = n4.u);
  })), u2 = r2 = null;
}, a2.__c = function(n3, t4) {
  t4.some(function(n4) {
    try {
      n4.__h.some(C2), n4.__h = n4.__h.filter(function(n5) {
        return !n5.__ || D2(n5);
      });
    } catch (t5) {
      n4.__h = [function() {
        throw t5;
      }];
    }
  }), h2 && h2(n3, t4);
}, a2.unmount = function(n3) {
  s2 && s2(n3);
  var t4, r4, u4 = n3.__c;
  u4 && u4.__H && (u4.__H.__.some(function(u5) {
    try {
      if (u5.__P && u5.__c) {
        if (void 0 === r4) {
          for (r4 = n3.__; r4 && (!r4.__c || !r4.__c.__P); ) r4 = r4.__;
          r4 = r4 && r4.__c;
        }
        u5.__P = r4, B2(e2.push(u5));
      } else C2(u5);
    } catch (n4) {
      t4 = n4;
    }
  }), u4.__H = void 0, t4 && a2.__e(t4, u4.__v));
};
var k2 = "function" == typeof requestAnimationFrame;
function z2(n3) {
  var t4, r4 = function() {
    clearTimeout(u4), k2 && cancelAnimationFrame(t4), setTimeout(n3);
  }, u4 = setTimeout(r4, 35);
  k2 && (t4 = requestAnimationFrame(r4));
}
function B2(n3) {
  1 != n3 && i2 == a2.requestAnimationFrame || ((i2 = a2.requestAnimationFrame) || z2)(g2);
}
function C2(n3) {
  var t4 = r2, u4 = n3.__c;
  "function" == typeof u4 && (n3.__c = void 0, u4()), r2 = t4;
}
function D2(n3) {
  var t4 = r2;
  n3.__c = n3.__(), r2 = t4;
}
function E2(n3, t4) {
  return !n3 || n3.length != t4.length || t4.some(function(t5, r4) {
    return !o2(t5, n3[r4]);
  });
}
function G2(n3, t4) {
  return "function" == typeof t4 ? t4(n3) : t4;
}

// node_modules/@preact/signals-core/dist/signals-core.module.js
var i3 = /* @__PURE__ */ Symbol.for("preact-signals");
function t3() {
  if (!(v3 > 1)) {
    var i4, t4 = false;
    !(function() {
      var i5 = c3;
      c3 = void 0;
      while (void 0 !== i5) {
        var t5 = i5.S;
        if (t5.v === i5.v) {
          for (var r5 = t5.t; void 0 !== r5; r5 = r5.x) if (r5.i === i5.i) r5.i = t5.i;
        }
        i5 = i5.o;
      }
    })();
    while (void 0 !== h3) {
      var r4 = h3;
      h3 = void 0;
      s3++;
      while (void 0 !== r4) {
        var n3 = r4.u;
        r4.u = void 0;
        r4.f &= -3;
        if (!(8 & r4.f) && w3(r4)) try {
          r4.c();
        } catch (r5) {
          if (!t4) {
            i4 = r5;
            t4 = true;
          }
        }
        r4 = n3;
      }
    }
    s3 = 0;
    v3--;
    if (t4) throw i4;
  } else v3--;
}
function r3(i4) {
  if (v3 > 0) return i4();
  u3 = ++e3;
  v3++;
  try {
    return i4();
  } finally {
    t3();
  }
}
var n2;
var o3 = void 0;
function f3(i4) {
  var t4 = o3, r4 = n2;
  o3 = void 0;
  n2 = void 0;
  try {
    return i4();
  } finally {
    o3 = t4;
    n2 = r4;
  }
}
var h3 = void 0;
var v3 = 0;
var s3 = 0;
var e3 = 0;
var u3 = 0;
var c3 = void 0;
var a3 = 0;
function d3(i4) {
  if (void 0 !== o3) {
    var t4 = i4.n;
    if (void 0 === t4 || t4.t !== o3) {
      t4 = { i: 0, S: i4, p: o3.s, n: void 0, t: o3, e: void 0, x: void 0, r: t4 };
      if (void 0 !== o3.s) o3.s.n = t4;
      o3.s = t4;
      i4.n = t4;
      if (32 & o3.f) i4.S(t4);
      return t4;
    } else if (-1 === t4.i) {
      t4.i = 0;
      if (void 0 !== t4.n) {
        t4.n.p = t4.p;
        if (void 0 !== t4.p) t4.p.n = t4.n;
        t4.p = o3.s;
        t4.n = void 0;
        o3.s.n = t4;
        o3.s = t4;
      }
      return t4;
    }
  }
}
function l3(i4, t4) {
  this.v = i4;
  this.i = 0;
  this.n = void 0;
  this.t = void 0;
  this.l = 0;
  this.W = null == t4 ? void 0 : t4.watched;
  this.Z = null == t4 ? void 0 : t4.unwatched;
  this.name = null == t4 ? void 0 : t4.name;
}
l3.prototype.brand = i3;
l3.prototype.h = function() {
  return true;
};
l3.prototype.S = function(i4) {
  var t4 = this, r4 = this.t;
  if (r4 !== i4 && void 0 === i4.e) {
    i4.x = r4;
    this.t = i4;
    if (void 0 !== r4) r4.e = i4;
    else f3(function() {
      var i5;
      null == (i5 = t4.W) || i5.call(t4);
    });
  }
};
l3.prototype.U = function(i4) {
  var t4 = this;
  if (void 0 !== this.t) {
    var r4 = i4.e, n3 = i4.x;
    if (void 0 !== r4) {
      r4.x = n3;
      i4.e = void 0;
    }
    if (void 0 !== n3) {
      n3.e = r4;
      i4.x = void 0;
    }
    if (i4 === this.t) {
      this.t = n3;
      if (void 0 === n3) f3(function() {
        var i5;
        null == (i5 = t4.Z) || i5.call(t4);
      });
    }
  }
};
l3.prototype.subscribe = function(i4) {
  var t4 = this;
  return x2(function() {
    var r4 = t4.value;
    f3(function() {
      return i4(r4);
    });
  }, { name: "sub" });
};
l3.prototype.valueOf = function() {
  return this.value;
};
l3.prototype.toString = function() {
  return this.value + "";
};
l3.prototype.toJSON = function() {
  return this.value;
};
l3.prototype.peek = function() {
  var i4 = this;
  return f3(function() {
    return i4.value;
  });
};
Object.defineProperty(l3.prototype, "value", { get: function() {
  var i4 = d3(this);
  if (void 0 !== i4) i4.i = this.i;
  return this.v;
}, set: function(i4) {
  if (i4 !== this.v) {
    if (s3 > 100) throw new Error("Cycle detected");
    !(function(i5) {
      if (0 !== v3 && 0 === s3) {
        if (i5.l !== u3) {
          i5.l = u3;
          c3 = { S: i5, v: i5.v, i: i5.i, o: c3 };
        }
      }
    })(this);
    this.v = i4;
    this.i++;
    a3++;
    v3++;
    try {
      for (var r4 = this.t; void 0 !== r4; r4 = r4.x) r4.t.N();
    } finally {
      t3();
    }
  }
} });
function y3(i4, t4) {
  return new l3(i4, t4);
}
function w3(i4) {
  for (var t4 = i4.s; void 0 !== t4; t4 = t4.n) if (t4.S.i !== t4.i || !t4.S.h() || t4.S.i !== t4.i) return true;
  return false;
}
function b(i4) {
  for (var t4 = i4.s; void 0 !== t4; t4 = t4.n) {
    var r4 = t4.S.n;
    if (void 0 !== r4) t4.r = r4;
    t4.S.n = t4;
    t4.i = -1;
    if (void 0 === t4.n) {
      i4.s = t4;
      break;
    }
  }
}
function _3(i4) {
  var t4 = i4.s, r4 = void 0;
  while (void 0 !== t4) {
    var n3 = t4.p;
    if (-1 === t4.i) {
      t4.S.U(t4);
      if (void 0 !== n3) n3.n = t4.n;
      if (void 0 !== t4.n) t4.n.p = n3;
    } else r4 = t4;
    t4.S.n = t4.r;
    if (void 0 !== t4.r) t4.r = void 0;
    t4 = n3;
  }
  i4.s = r4;
}
function j2(i4, t4) {
  l3.call(this, void 0, t4);
  this.x = i4;
  this.s = void 0;
  this.g = a3 - 1;
  this.f = 4;
}
j2.prototype = new l3();
j2.prototype.h = function() {
  this.f &= -3;
  if (1 & this.f) return false;
  if (32 == (36 & this.f)) return true;
  this.f &= -5;
  if (this.g === a3) return true;
  this.g = a3;
  this.f |= 1;
  if (this.i > 0 && !w3(this)) {
    this.f &= -2;
    return true;
  }
  var i4 = o3;
  try {
    b(this);
    o3 = this;
    var t4 = this.x();
    if (16 & this.f || this.v !== t4 || 0 === this.i) {
      this.v = t4;
      this.f &= -17;
      this.i++;
    }
  } catch (i5) {
    this.v = i5;
    this.f |= 16;
    this.i++;
  }
  o3 = i4;
  _3(this);
  this.f &= -2;
  return true;
};
j2.prototype.S = function(i4) {
  if (void 0 === this.t) {
    this.f |= 36;
    for (var t4 = this.s; void 0 !== t4; t4 = t4.n) t4.S.S(t4);
  }
  l3.prototype.S.call(this, i4);
};
j2.prototype.U = function(i4) {
  if (void 0 !== this.t) {
    l3.prototype.U.call(this, i4);
    if (void 0 === this.t) {
      this.f &= -33;
      for (var t4 = this.s; void 0 !== t4; t4 = t4.n) t4.S.U(t4);
    }
  }
};
j2.prototype.N = function() {
  if (!(2 & this.f)) {
    this.f |= 6;
    for (var i4 = this.t; void 0 !== i4; i4 = i4.x) i4.t.N();
  }
};
Object.defineProperty(j2.prototype, "value", { get: function() {
  if (1 & this.f) throw new Error("Cycle detected");
  var i4 = d3(this);
  this.h();
  if (void 0 !== i4) i4.i = this.i;
  if (16 & this.f) throw this.v;
  return this.v;
} });
function O(i4, t4) {
  return new j2(i4, t4);
}
function p3(i4) {
  var r4 = i4.j;
  i4.j = void 0;
  if ("function" == typeof r4) {
    v3++;
    var n3 = o3;
    o3 = void 0;
    try {
      r4();
    } catch (t4) {
      i4.f &= -2;
      i4.f |= 8;
      g3(i4);
      throw t4;
    } finally {
      o3 = n3;
      t3();
    }
  }
}
function g3(i4) {
  for (var t4 = i4.s; void 0 !== t4; t4 = t4.n) t4.S.U(t4);
  i4.x = void 0;
  i4.s = void 0;
  p3(i4);
}
function S2(i4) {
  if (o3 !== this) throw new Error("Out-of-order effect");
  _3(this);
  o3 = i4;
  this.f &= -2;
  try {
    if (8 & this.f) g3(this);
  } finally {
    t3();
  }
}
function m3(i4, t4) {
  this.x = i4;
  this.j = void 0;
  this.s = void 0;
  this.u = void 0;
  this.f = 32;
  this.name = null == t4 ? void 0 : t4.name;
  if (n2) n2.push(this);
}
m3.prototype.c = function() {
  var i4 = this.S();
  try {
    if (8 & this.f) return;
    if (void 0 === this.x) return;
    var t4 = this.x();
    if ("function" == typeof t4) this.j = t4;
  } finally {
    i4();
  }
};
m3.prototype.S = function() {
  if (1 & this.f) throw new Error("Cycle detected");
  this.f |= 1;
  this.f &= -9;
  p3(this);
  b(this);
  v3++;
  var i4 = o3;
  o3 = this;
  return S2.bind(this, i4);
};
m3.prototype.N = function() {
  if (!(2 & this.f)) {
    this.f |= 2;
    this.u = h3;
    h3 = this;
  }
};
m3.prototype.d = function() {
  this.f |= 8;
  if (!(1 & this.f)) g3(this);
};
m3.prototype.dispose = function() {
  this.d();
};
function x2(i4, t4) {
  var r4 = new m3(i4, t4);
  try {
    r4.c();
  } catch (i5) {
    r4.d();
    throw i5;
  }
  var n3 = r4.d.bind(r4);
  n3[Symbol.dispose] = n3;
  return n3;
}

// node_modules/@preact/signals/dist/signals.module.js
var h4;
var d4;
var p4;
var m4 = "undefined" != typeof window && !!window.__PREACT_SIGNALS_DEVTOOLS__;
var _4 = [];
var g4 = [];
x2(function() {
  h4 = this.N;
})();
function b2(i4, n3) {
  n[i4] = n3.bind(null, n[i4] || function() {
  });
}
function y4(i4) {
  if (p4) {
    var n3 = p4;
    p4 = void 0;
    n3();
  }
  p4 = i4 && i4.S();
}
function w4(i4) {
  var n3 = this, r4 = i4.data, t4 = useSignal(r4);
  t4.name = "ReactiveDom";
  t4.value = r4;
  var e4 = w2(function() {
    var i5 = n3, r5 = n3.__v;
    while (r5 = r5.__) if (r5.__c) {
      r5.__c.__$f |= 4;
      break;
    }
    var o5 = O(function() {
      var i6 = t4.value.value;
      return 0 === i6 ? 0 : true === i6 ? "" : i6 || "";
    }), e5 = O(function() {
      return !Array.isArray(o5.value) && !r(o5.value);
    }), u5 = x2(function() {
      this.N = M;
      if (e5.value) {
        var n4 = o5.value;
        if (i5.__v && i5.__v.__e && 3 === i5.__v.__e.nodeType) i5.__v.__e.data = n4;
      }
    }), c5 = n3.__$u.d;
    n3.__$u.d = function() {
      u5();
      c5.call(this);
    };
    return [e5, o5];
  }, []), u4 = e4[0], c4 = e4[1];
  return u4.value ? c4.peek() : c4.value;
}
w4.displayName = "ReactiveTextNode";
Object.defineProperties(l3.prototype, { constructor: { configurable: true, value: k($, null).constructor }, type: { configurable: true, value: w4 }, props: { configurable: true, get: function() {
  var i4 = this;
  return { data: { get value() {
    return i4.value;
  } } };
} }, __b: { configurable: true, value: 1 } });
b2("__b", function(i4, n3) {
  y4();
  d4 = void 0;
  if ("string" == typeof n3.type) {
    var r4, t4 = n3.props;
    for (var f5 in t4) if ("children" !== f5) {
      var o5 = t4[f5];
      if (o5 instanceof l3) {
        if (!r4) n3.__np = r4 = {};
        r4[f5] = o5;
        t4[f5] = o5.peek();
      }
    }
  }
  i4(n3);
});
b2("__r", function(i4, r4) {
  i4(r4);
  if (r4.type !== $) {
    y4();
    var t4, f5 = r4.__c;
    if (f5) {
      f5.__$f &= -2;
      if (void 0 === (t4 = f5.__$u)) f5.__$u = t4 = (function(i5, n3) {
        var r5;
        x2(function() {
          r5 = this;
        }, { name: n3 });
        r5.c = i5;
        return r5;
      })(/* @__PURE__ */ (function(i5) {
        return function() {
          var n3;
          if (m4) null == (n3 = this.y) || n3.call(this);
          i5.__$f |= 1;
          i5.setState({});
        };
      })(f5), "function" == typeof r4.type ? r4.type.displayName || r4.type.name : "");
    }
    d4 = f5;
    y4(t4);
  }
});
b2("__e", function(i4, n3, r4, t4) {
  y4();
  d4 = void 0;
  i4(n3, r4, t4);
});
b2("diffed", function(i4, n3) {
  y4();
  d4 = void 0;
  var r4;
  if ("string" == typeof n3.type && (r4 = n3.__e)) {
    var t4 = n3.__np, f5 = n3.props, o5 = r4.U;
    if (o5) for (var e4 in o5) {
      var u4 = o5[e4];
      if (!(void 0 === u4 || t4 && e4 in t4)) {
        u4.d();
        o5[e4] = void 0;
      }
    }
    if (t4) {
      if (!o5) {
        o5 = {};
        r4.U = o5;
      }
      for (var a5 in t4) {
        var c4 = o5[a5], v4 = t4[a5];
        if (void 0 === c4) {
          c4 = k3(r4, a5, v4, f5);
          o5[a5] = c4;
        } else c4.o(v4, f5);
      }
    }
  }
  i4(n3);
});
function k3(i4, n3, r4, t4) {
  var f5 = n3 in i4 && void 0 === i4.ownerSVGElement, o5 = y3(r4);
  return { o: function(i5, n4) {
    o5.value = i5;
    t4 = n4;
  }, d: x2(function() {
    this.N = M;
    var r5 = o5.value.value;
    if (t4[n3] !== r5) {
      t4[n3] = r5;
      if (f5) i4[n3] = r5;
      else if (null != r5 && (false !== r5 || "-" === n3[4])) i4.setAttribute(n3, r5);
      else i4.removeAttribute(n3);
    }
  }) };
}
b2("unmount", function(i4, n3) {
  if ("string" == typeof n3.type) {
    var r4 = n3.__e;
    if (r4) {
      var t4 = r4.U;
      if (t4) {
        r4.U = void 0;
        for (var f5 in t4) {
          var o5 = t4[f5];
          if (o5) o5.d();
        }
      }
    }
    var e4 = n3.__np;
    if (e4) {
      var u4 = n3.props;
      for (var a5 in e4) u4[a5] = e4[a5];
    }
    n3.__np = void 0;
  } else {
    var c4 = n3.__c;
    if (c4) {
      c4.__$f |= 8;
      var v4 = c4.__$u;
      if (v4) {
        c4.__$u = void 0;
        v4.d();
      }
    }
  }
  i4(n3);
});
b2("__h", function(i4, n3, r4, t4) {
  if (t4 < 3) n3.__$f |= 2;
  i4(n3, r4, t4);
});
x.prototype.shouldComponentUpdate = function(i4, n3) {
  if (this.__R) return true;
  var r4 = this.__$u, t4 = r4 && void 0 !== r4.s;
  for (var f5 in n3) return true;
  if (this.__f || "boolean" == typeof this.u && true === this.u) {
    var o5 = 2 & this.__$f;
    if (!(t4 || o5 || 4 & this.__$f)) return true;
    if (1 & this.__$f) return true;
  } else {
    if (!(t4 || 4 & this.__$f)) return true;
    if (3 & this.__$f) return true;
  }
  for (var e4 in i4) if ("__source" !== e4 && i4[e4] !== this.props[e4]) return true;
  for (var u4 in this.props) if (!(u4 in i4)) return true;
  return false;
};
function useSignal(i4, n3) {
  return w2(function() {
    return y3(i4, n3);
  }, []);
}
function useComputed(i4, n3) {
  var r4 = T2(i4);
  r4.current = i4;
  d4.__$f |= 4;
  return w2(function() {
    return O(function() {
      return r4.current();
    }, n3);
  }, []);
}
var q2 = "undefined" == typeof requestAnimationFrame ? setTimeout : function(i4) {
  var n3 = function() {
    clearTimeout(r4);
    cancelAnimationFrame(t4);
    i4();
  }, r4 = setTimeout(n3, 35), t4 = requestAnimationFrame(n3);
};
var A3 = function(i4) {
  queueMicrotask(function() {
    queueMicrotask(i4);
  });
};
function T4() {
  r3(function() {
    var i4;
    while (i4 = _4.shift()) h4.call(i4);
  });
}
function x3() {
  if (1 === _4.push(this)) (n.requestAnimationFrame || q2)(T4);
}
function F3() {
  r3(function() {
    var i4;
    while (i4 = g4.shift()) h4.call(i4);
  });
}
function M() {
  if (1 === g4.push(this)) (n.requestAnimationFrame || A3)(F3);
}
function useSignalEffect(i4, n3) {
  var r4 = T2(i4);
  r4.current = i4;
  var t4 = d4;
  A2(function() {
    return x2(function() {
      this.N = x3;
      if (!(t4 && 8 & t4.__$f)) return r4.current();
    }, n3);
  }, []);
}

// chat/calls.ts
var Refusal = class extends Error {
  constructor(status, code, detail, retryAfter) {
    super(detail);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
  status;
  code;
  retryAfter;
  /** Whether the same call may succeed later. */
  get passes() {
    return this.status === 429 || this.status >= 500;
  }
};
var base = location.pathname.split("/").at(-1);
async function call(what, body) {
  const init = { credentials: "same-origin", cache: "no-store" };
  if (body !== void 0) {
    init.method = "POST";
    init.headers = { "Content-Type": "application/json" };
    init.body = JSON.stringify(body);
  }
  const response = await fetch(`${base}/${what}`, init);
  if (!response.ok) throw await refusalOf(response);
  return await response.json();
}
var begin = () => call("session", {});
var restart = () => call("restart", {});
var say = ({ files, ...message }) => call("messages", files ? { ...message, files: files.map((file) => file.id) } : message);
var fileAddress = (id) => `${base}/files/${id}`;
var earlier = (before) => call(`lines?before=${before}`);
async function openEvents(after, signal) {
  const response = await fetch(`${base}/events?after=${after}`, {
    credentials: "same-origin",
    cache: "no-store",
    headers: { Accept: "text/event-stream" },
    signal
  });
  if (!response.ok) throw await refusalOf(response);
  return response;
}
function upload(file, stop, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `${base}/files?name=${encodeURIComponent(file.name)}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = ({ loaded, total }) => progress(loaded / (total || 1));
    request.onload = () => {
      if (request.status === 200) resolve(JSON.parse(request.responseText));
      else reject(refusal(request.status, request.responseText, request.getResponseHeader("Retry-After")));
    };
    request.onerror = request.onabort = () => reject(new TypeError("the upload was cut"));
    stop.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}
async function refusalOf(response) {
  return refusal(response.status, await response.text().catch(() => ""), response.headers.get("Retry-After"));
}
function refusal(status, text, after) {
  const wait = Number(after) || 0;
  try {
    const problem = JSON.parse(text);
    return new Refusal(status, String(problem.code), String(problem.detail), wait);
  } catch {
    return new Refusal(status, "unknown", text, wait);
  }
}
async function* readEvents(response, heard) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    text += value;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      const fields = new Map(block.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));
      if (fields.has("event")) yield { event: fields.get("event"), data: fields.get("data") ?? "" };
    }
  }
}

// node_modules/preact/jsx-runtime/dist/jsxRuntime.mjs
var f4 = /* @__PURE__ */ Symbol.for("pv");
var o4 = 0;
function a4(t4, e4, n3, u4, a5, i4) {
  e4 || (e4 = {});
  var c4, l4, p5 = e4;
  if ("ref" in p5 && "function" != typeof t4) for (l4 in p5 = {}, e4) "ref" == l4 ? c4 = e4[l4] : p5[l4] = e4[l4];
  var s4 = { type: t4, props: p5, key: n3, ref: c4, __k: null, __: null, __b: 0, __e: null, __c: null, constructor: f4, __v: --o4, __i: -1, __u: 0 };
  return (a5 || i4) && (s4.__source = a5, s4.__self = i4), n.vnode && n.vnode(s4), s4;
}

// chat/icons.tsx
var PATHS = {
  clip: "M19.5 11.5l-7.6 7.6a4.6 4.6 0 0 1-6.5-6.5l8-8a3.1 3.1 0 0 1 4.4 4.4l-7.9 7.9a1.6 1.6 0 0 1-2.2-2.2l7.1-7.1",
  file: "M13.5 3.5H7a1.5 1.5 0 0 0-1.5 1.5v14A1.5 1.5 0 0 0 7 20.5h10a1.5 1.5 0 0 0 1.5-1.5V8.5zM13.5 3.5v5h5",
  send: "M5 12h13M12.5 6l6 6-6 6",
  restart: "M4.5 12a7.5 7.5 0 1 0 2.4-5.5M4 3.5v4.2h4.2",
  close: "M6 6l12 12M18 6L6 18",
  down: "M12 5v13M6 12.5l6 6 6-6",
  check: "M5 12.5l4.5 4.5L19 7.5",
  clock: "M12 7.5V12l3 2M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17z",
  warning: "M12 8.5v4.5M12 16.2v.1M12 3.8L2.8 19.7h18.4z",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5a7.5 7.5 0 0 1 15 0",
  out: "M10 5H5v14h14v-5M14 4h6v6M20 4l-9 9"
};
function Icon({ name }) {
  return a4("svg", { class: `icon icon-${name}`, viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false", children: a4("path", { d: PATHS[name] }) });
}
function Avatar({ name }) {
  return a4("span", { class: "avatar", "aria-hidden": "true", children: Array.from(name)[0]?.toUpperCase() });
}

// chat/markdown.tsx
var LINK = /\[([^\]\n]+)\]\(([^)\s]+)\)/;
var BARE = /\bhttps?:\/\/[^\s<>"')\]]*[^\s<>"')\].,;:!?]/;
var SPANS = [
  [/`([^`\n]+)`/, (match) => a4("code", { children: match[1] })],
  [LINK, (match) => linked(match[2], inline(match[1]), match[0])],
  [BARE, (match) => linked(match[0], match[0], match[0])],
  [/\*\*(?=\S)([^\n]*?\S)\*\*/, (match) => a4("strong", { children: inline(match[1]) })],
  [/__(?=\S)([^\n]*?\S)__/, (match) => a4("strong", { children: inline(match[1]) })],
  [/~~(?=\S)([^\n]*?\S)~~/, (match) => a4("del", { children: inline(match[1]) })],
  [/(?<![\w*])\*(?=[^\s*])([^\n]*?[^\s*])\*(?![\w*])/, (match) => a4("em", { children: inline(match[1]) })],
  [/(?<![\w_])_(?=[^\s_])([^\n]*?[^\s_])_(?![\w_])/, (match) => a4("em", { children: inline(match[1]) })]
];
function linked(address, label, otherwise) {
  if (!isAddress(address)) return otherwise;
  return a4("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow", children: label });
}
function isAddress(address) {
  if (typeof address !== "string" || !/^(https?:\/\/|mailto:)/i.test(address)) return false;
  return URL.canParse(address);
}
function inline(text) {
  return spans(text, SPANS);
}
function spans(text, kinds) {
  const found = [];
  let rest = text;
  while (rest) {
    let first = null;
    let make = null;
    for (const [form, maker] of kinds) {
      const match = form.exec(rest);
      if (match && (first === null || match.index < first.index)) [first, make] = [match, maker];
    }
    if (first === null || make === null) break;
    if (first.index) found.push(rest.slice(0, first.index));
    found.push(make(first));
    rest = rest.slice(first.index + first[0].length);
  }
  if (rest) found.push(rest);
  return found;
}
function Plain({ text }) {
  return a4("p", { class: "plain", dir: "auto", children: spans(text, [SPANS[2]]) });
}
function blocksOf(text) {
  const blocks = [];
  let block = [];
  let fence = "";
  const close = () => {
    if (block.length) blocks.push(block.join("\n"));
    block = [];
  };
  for (const line of text.replace(/\r\n?/g, "\n").split("\n")) {
    const mark = /^\s*(```|~~~)/.exec(line)?.[1] ?? "";
    if (fence) {
      block.push(line);
      if (mark === fence) {
        fence = "";
        close();
      }
    } else if (mark) {
      close();
      fence = mark;
      block.push(line);
    } else if (!line.trim()) {
      close();
    } else {
      if (block.length && kindOf(line) !== kindOf(block[0]) && !/^\s{2,}/.test(line)) close();
      block.push(line);
    }
  }
  close();
  return blocks;
}
var BULLET = /^\s*[-*+]\s+/;
var NUMBERED = /^\s*\d{1,9}[.)]\s+/;
var HEADING = /^#{1,6}\s+/;
var RULE = /^\s*([-*_])(\s*\1){2,}\s*$/;
var QUOTE = /^\s*>\s?/;
function kindOf(line) {
  if (RULE.test(line)) return "rule";
  if (HEADING.test(line)) return "heading";
  if (QUOTE.test(line)) return "quote";
  if (BULLET.test(line)) return "bullet";
  if (NUMBERED.test(line)) return "number";
  return "text";
}
function render(block) {
  const lines = block.split("\n");
  const first = lines[0];
  if (/^\s*(```|~~~)/.test(first)) {
    const isClosed = lines.length > 1 && /^\s*(```|~~~)\s*$/.test(lines.at(-1));
    return a4("pre", { tabIndex: 0, dir: "ltr", children: a4("code", { children: lines.slice(1, isClosed ? -1 : void 0).join("\n") }) });
  }
  switch (kindOf(first)) {
    case "rule":
      return a4("hr", {});
    case "heading":
      return lines.map((line) => a4("p", { class: "heading", dir: "auto", children: inline(line.replace(HEADING, "")) }));
    case "quote":
      return a4("blockquote", { dir: "auto", children: broken(lines.map((line) => line.replace(QUOTE, ""))) });
    case "bullet":
      return a4("ul", { dir: "auto", children: items(lines, BULLET) });
    case "number":
      return a4("ol", { dir: "auto", start: parseInt(first, 10) || 1, children: items(lines, NUMBERED) });
    default:
      return a4("p", { dir: "auto", children: broken(lines) });
  }
}
function items(lines, mark) {
  const found = [];
  for (const line of lines) {
    if (mark.test(line)) found.push([line.replace(mark, "")]);
    else found.at(-1)?.push(line.trim());
  }
  return found.map((item) => a4("li", { children: broken(item) }));
}
function broken(lines) {
  return lines.flatMap((line, at) => at ? [a4("br", {}), ...inline(line)] : inline(line));
}
var Block = class extends x {
  shouldComponentUpdate(next) {
    return next.source !== this.props.source;
  }
  render() {
    return render(this.props.source);
  }
};
function Markdown({ text }) {
  return a4($, { children: blocksOf(text).map((source, at) => a4(Block, { source }, at)) });
}

// chat/words.ts
var en = {
  write: "Write a message",
  begin: "Write a message to start.",
  send: "Send",
  online: "Online",
  connecting: "Connecting…",
  reconnecting: "Connecting again…",
  offline: "Offline. Messages are sent when you are back.",
  answering: "{0} is answering",
  over: "Start over",
  overAsk: "Start over?",
  overMeans: "The conversation ends here, and this page forgets it.",
  overFailed: "That did not work. Try again in a moment.",
  cancel: "Cancel",
  close: "Close chat",
  earlier: "Earlier messages",
  fresh: "{0} new",
  conversation: "Conversation",
  messages: "Messages",
  you: "You",
  reply: "Reply",
  answers: "Answers",
  waiting: "Waiting to send",
  sending: "Sending",
  sent: "Sent",
  failed: "Not sent",
  again: "Try again",
  remove: "Remove",
  typing: "An answer is being written.",
  form: "Form",
  formSent: "Form sent",
  formOpen: "Form not filled in",
  optional: "optional",
  choose: "Choose",
  empty: "Please fill this in.",
  number: "Please write a number.",
  integer: "Please write a whole number.",
  yes: "yes",
  no: "no",
  open: "Open",
  picture: "Picture",
  card: "Card",
  tooLong: "This message is too long.",
  busy: "The last message is still being answered.",
  full: "Too many messages are waiting for an answer.",
  closed: "This chat is closed.",
  nothing: "There is no chat at this address.",
  attach: "Attach files",
  dropHere: "Drop files here",
  files: "Files",
  tooBig: "Larger than {0}",
  wrongKind: "This kind of file is not accepted",
  filesFull: "This conversation takes no more files",
  tooMany: "At most {0} files at a time."
};
var de = {
  write: "Nachricht schreiben",
  begin: "Schreiben Sie eine Nachricht.",
  send: "Senden",
  online: "Online",
  connecting: "Verbindung wird aufgebaut…",
  reconnecting: "Verbindung wird wiederhergestellt…",
  offline: "Offline. Nachrichten werden gesendet, sobald Sie wieder verbunden sind.",
  answering: "{0} antwortet",
  over: "Neu beginnen",
  overAsk: "Neu beginnen?",
  overMeans: "Das Gespräch endet hier, und diese Seite vergisst es.",
  overFailed: "Das hat nicht geklappt. Versuchen Sie es gleich noch einmal.",
  cancel: "Abbrechen",
  close: "Chat schließen",
  earlier: "Frühere Nachrichten",
  fresh: "{0} neu",
  conversation: "Gespräch",
  messages: "Nachrichten",
  you: "Sie",
  reply: "Antwort",
  answers: "Antworten",
  waiting: "Wartet auf Verbindung",
  sending: "Wird gesendet",
  sent: "Gesendet",
  failed: "Nicht gesendet",
  again: "Noch einmal",
  remove: "Entfernen",
  typing: "Eine Antwort wird geschrieben.",
  form: "Formular",
  formSent: "Formular gesendet",
  formOpen: "Formular nicht ausgefüllt",
  optional: "freiwillig",
  choose: "Auswählen",
  empty: "Bitte ausfüllen.",
  number: "Bitte eine Zahl eingeben.",
  integer: "Bitte eine ganze Zahl eingeben.",
  yes: "ja",
  no: "nein",
  open: "Öffnen",
  picture: "Bild",
  card: "Karte",
  tooLong: "Diese Nachricht ist zu lang.",
  busy: "Die letzte Nachricht wird noch beantwortet.",
  full: "Zu viele Nachrichten warten auf eine Antwort.",
  closed: "Dieser Chat ist geschlossen.",
  nothing: "Unter dieser Adresse gibt es keinen Chat.",
  attach: "Dateien anhängen",
  dropHere: "Dateien hier ablegen",
  files: "Dateien",
  tooBig: "Größer als {0}",
  wrongKind: "Diese Art von Datei wird nicht angenommen",
  filesFull: "Dieses Gespräch nimmt keine weiteren Dateien an",
  tooMany: "Höchstens {0} Dateien auf einmal."
};
var fr = {
  write: "Écrire un message",
  begin: "Écrivez un message pour commencer.",
  send: "Envoyer",
  online: "En ligne",
  connecting: "Connexion…",
  reconnecting: "Reconnexion…",
  offline: "Hors ligne. Les messages partiront à votre retour.",
  answering: "{0} vous répond",
  over: "Recommencer",
  overAsk: "Recommencer ?",
  overMeans: "La conversation se termine ici et cette page l’oublie.",
  overFailed: "Cela n’a pas fonctionné. Réessayez dans un instant.",
  cancel: "Annuler",
  close: "Fermer le chat",
  earlier: "Messages précédents",
  fresh: "{0} nouveaux",
  conversation: "Conversation",
  messages: "Messages",
  you: "Vous",
  reply: "Réponse",
  answers: "Réponses",
  waiting: "En attente d’envoi",
  sending: "Envoi",
  sent: "Envoyé",
  failed: "Non envoyé",
  again: "Réessayer",
  remove: "Supprimer",
  typing: "Une réponse est en cours de rédaction.",
  form: "Formulaire",
  formSent: "Formulaire envoyé",
  formOpen: "Formulaire non rempli",
  optional: "facultatif",
  choose: "Choisir",
  empty: "Veuillez remplir ce champ.",
  number: "Veuillez saisir un nombre.",
  integer: "Veuillez saisir un nombre entier.",
  yes: "oui",
  no: "non",
  open: "Ouvrir",
  picture: "Image",
  card: "Carte",
  tooLong: "Ce message est trop long.",
  busy: "Le dernier message est encore en cours de traitement.",
  full: "Trop de messages attendent une réponse.",
  closed: "Ce chat est fermé.",
  nothing: "Il n’y a pas de chat à cette adresse.",
  attach: "Joindre des fichiers",
  dropHere: "Déposez les fichiers ici",
  files: "Fichiers",
  tooBig: "Plus de {0}",
  wrongKind: "Ce type de fichier n’est pas accepté",
  filesFull: "Cette conversation n’accepte plus de fichiers",
  tooMany: "{0} fichiers à la fois au plus."
};
var ar = {
  write: "اكتب رسالة",
  begin: "اكتب رسالة للبدء.",
  send: "إرسال",
  online: "متصل",
  connecting: "جارٍ الاتصال…",
  reconnecting: "جارٍ إعادة الاتصال…",
  offline: "غير متصل. ستُرسل الرسائل عند عودة الاتصال.",
  answering: "يجيبك {0}",
  over: "البدء من جديد",
  overAsk: "هل تريد البدء من جديد؟",
  overMeans: "تنتهي المحادثة هنا، ولن تُعرض في هذه الصفحة.",
  overFailed: "لم ينجح ذلك. حاول مرة أخرى بعد قليل.",
  cancel: "إلغاء",
  close: "إغلاق الدردشة",
  earlier: "رسائل سابقة",
  fresh: "{0} جديدة",
  conversation: "المحادثة",
  messages: "الرسائل",
  you: "أنت",
  reply: "الرد",
  answers: "الإجابات",
  waiting: "في انتظار الإرسال",
  sending: "جارٍ الإرسال",
  sent: "أُرسلت",
  failed: "لم تُرسل",
  again: "إعادة المحاولة",
  remove: "إزالة",
  typing: "تجري كتابة رد.",
  form: "نموذج",
  formSent: "أُرسل النموذج",
  formOpen: "لم يُملأ النموذج",
  optional: "اختياري",
  choose: "اختر",
  empty: "يرجى ملء هذا الحقل.",
  number: "يرجى كتابة رقم.",
  integer: "يرجى كتابة عدد صحيح.",
  yes: "نعم",
  no: "لا",
  open: "فتح",
  picture: "صورة",
  card: "بطاقة",
  tooLong: "هذه الرسالة طويلة جدًا.",
  busy: "لا تزال الرسالة الأخيرة قيد الرد.",
  full: "رسائل كثيرة تنتظر الرد.",
  closed: "هذه الدردشة مغلقة.",
  nothing: "لا توجد دردشة في هذا العنوان.",
  attach: "إرفاق ملفات",
  dropHere: "أفلت الملفات هنا",
  files: "الملفات",
  tooBig: "أكبر من {0}",
  wrongKind: "هذا النوع من الملفات غير مقبول",
  filesFull: "لا تقبل هذه المحادثة المزيد من الملفات",
  tooMany: "{0} ملفات كحد أقصى في المرة الواحدة."
};
var LANGUAGES = { en, de, fr, ar };
var words = { ...en };
function speak(language) {
  Object.assign(words, LANGUAGES[baseOf(language)] ?? en);
}
function known(languages) {
  return languages.find((language) => baseOf(language) in LANGUAGES) ?? "en";
}
function baseOf(language) {
  return language.split("-")[0].toLowerCase();
}
function phrase(text, value) {
  return text.replace("{0}", String(value));
}

// chat/uploads.ts
var Uploads = class {
  constructor(takes) {
    this.takes = takes;
  }
  takes;
  items = y3([]);
  /** Why nothing was added. */
  notice = y3("");
  isBusy = O(() => this.items.value.some((item) => !item.file && !item.problem));
  ready = O(() => this.items.value.flatMap((item) => item.file ?? []));
  stops = /* @__PURE__ */ new Map();
  last = 0;
  add(files) {
    const takes = this.takes();
    if (!takes) return;
    this.notice.value = "";
    for (const file of files) {
      if (this.items.value.length >= takes.most_files) {
        this.notice.value = phrase(words.tooMany, takes.most_files);
        return;
      }
      void this.send(file, takes);
    }
  }
  /** Forget a file, or stop its upload. */
  remove(key) {
    this.stops.get(key)?.abort();
    this.notice.value = "";
    this.items.value = this.items.value.filter((item) => item.key !== key);
  }
  /** Hand over what is uploaded. */
  take() {
    const files = this.ready.value;
    this.items.value = this.items.value.filter((item) => !item.file);
    this.notice.value = "";
    return files;
  }
  clear() {
    for (const { key } of this.items.value) this.remove(key);
  }
  async send(file, takes) {
    const key = ++this.last;
    const problem = problemOf(file, takes);
    this.items.value = [...this.items.value, { key, name: file.name, size: file.size, done: 0, ...problem && { problem } }];
    if (problem) return;
    const stop = new AbortController();
    this.stops.set(key, stop);
    try {
      const known2 = await upload(file, stop.signal, (done) => this.change(key, { done }));
      this.change(key, { done: 1, file: known2 });
    } catch (error) {
      if (!stop.signal.aborted) this.change(key, { problem: reasonOf(error, takes) });
    }
    this.stops.delete(key);
  }
  change(key, change) {
    this.items.value = this.items.value.map((item) => item.key === key ? { ...item, ...change } : item);
  }
};
function problemOf(file, takes) {
  const name = file.name.toLowerCase();
  if (!takes.extensions.some((ending) => name.endsWith(ending))) return words.wrongKind;
  return file.size > takes.most_bytes ? tooBig(takes) : "";
}
function reasonOf(error, takes) {
  switch (error instanceof Refusal ? error.code : "") {
    case "too_large":
      return tooBig(takes);
    case "file_refused":
      return words.wrongKind;
    case "files_full":
      return words.filesFull;
    default:
      return words.failed;
  }
}
var tooBig = (takes) => phrase(words.tooBig, sizeOf(takes.most_bytes));
var UNITS = ["byte", "kilobyte", "megabyte"];
function sizeOf(bytes) {
  const power = bytes < 1e3 ? 0 : bytes < 1e6 ? 1 : 2;
  const format = { style: "unit", unit: UNITS[power], unitDisplay: "short", maximumFractionDigits: power ? 1 : 0 };
  return new Intl.NumberFormat(document.documentElement.lang || void 0, format).format(bytes / 1e3 ** power);
}

// chat/files.tsx
var SHOWN = /^image\/(png|jpeg|gif|webp)$/;
function Files({ files }) {
  return a4("ul", { class: "files", children: files.map((file, at) => a4("li", { children: a4(FileLink, { file }) }, file.id ?? at)) });
}
function FileLink({ file }) {
  const name = file.name || words.files;
  const address = file.id ? fileAddress(file.id) : file.url;
  if (!address || !file.id && !isAddress(address)) return null;
  const isPicture = file.id && SHOWN.test(file.type ?? "");
  return a4(
    "a",
    {
      class: isPicture ? "file shown" : "file",
      href: address,
      ...file.id ? { download: name } : { target: "_blank", rel: "noopener noreferrer nofollow" },
      children: isPicture ? a4("img", { src: address, alt: name, loading: "lazy" }) : a4($, { children: [
        a4(Icon, { name: "file" }),
        a4("bdi", { class: "file-name", children: name }),
        file.size !== void 0 && a4("span", { class: "file-size", children: sizeOf(file.size) })
      ] })
    }
  );
}
function Tray({ uploads }) {
  const items2 = uploads.items.value;
  if (!items2.length && !uploads.notice.value) return null;
  return a4("div", { class: "tray column", children: [
    a4("ul", { "aria-label": words.files, children: items2.map((item) => a4("li", { class: `upload${item.problem ? " failed" : ""}`, children: [
      a4(Icon, { name: item.problem ? "warning" : item.file ? "check" : "file" }),
      a4("span", { class: "upload-text", children: [
        a4("bdi", { class: "file-name", children: item.name }),
        a4("span", { class: "file-size", children: item.problem ?? sizeOf(item.size) })
      ] }),
      !item.file && !item.problem && a4("progress", { max: 1, value: item.done, "aria-label": item.name }),
      a4(
        "button",
        {
          type: "button",
          class: "tool",
          "aria-label": `${item.file || item.problem ? words.remove : words.cancel}: ${item.name}`,
          onClick: () => uploads.remove(item.key),
          children: a4(Icon, { name: "close" })
        }
      )
    ] }, item.key)) }),
    a4("p", { class: uploads.notice.value ? "problem" : "hidden", role: "status", children: uploads.notice.value || items2.map((item) => item.problem && `${item.name}: ${item.problem}`).filter(Boolean).join(" ") })
  ] });
}

// chat/composer.tsx
var MOST_PX = 160;
function Composer({ chat: chat2, placeholder, most }) {
  const text = useSignal("");
  const input = T2(null);
  const isPhone = matchMedia("(pointer: coarse)").matches;
  const { uploads } = chat2;
  const isReady = !uploads.isBusy.value && (text.value.trim() !== "" || uploads.ready.value.length > 0);
  A2(() => {
    if (!isPhone) input.current?.focus({ preventScroll: true });
  }, []);
  const grow = () => {
    const element = input.current;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight + 2, MOST_PX)}px`;
  };
  const send = () => {
    if (!isReady) return;
    chat2.say(text.value.trim(), uploads.take());
    text.value = "";
    input.current.value = "";
    grow();
    input.current.focus();
  };
  const pressed = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || isPhone) return;
    event.preventDefault();
    send();
  };
  const pasted = (event) => {
    const files = event.clipboardData?.files;
    if (!files?.length || !chat2.takes.value) return;
    event.preventDefault();
    uploads.add(files);
  };
  return a4($, { children: [
    a4(Tray, { uploads }),
    a4(
      "form",
      {
        class: "composer column",
        onSubmit: (event) => {
          event.preventDefault();
          send();
        },
        children: [
          chat2.takes.value && a4(Attach, { chat: chat2 }),
          a4("label", { class: "hidden", for: "message", children: placeholder }),
          a4(
            "textarea",
            {
              id: "message",
              ref: input,
              rows: 1,
              dir: "auto",
              maxLength: most,
              placeholder,
              enterkeyhint: "send",
              onInput: (event) => {
                text.value = event.currentTarget.value;
                grow();
              },
              onKeyDown: pressed,
              onPaste: pasted
            }
          ),
          a4("button", { type: "submit", class: "send", "aria-label": words.send, disabled: !isReady, children: a4(Icon, { name: "send" }) })
        ]
      }
    )
  ] });
}
function Attach({ chat: chat2 }) {
  const field = T2(null);
  return a4($, { children: [
    a4(
      "input",
      {
        ref: field,
        type: "file",
        hidden: true,
        multiple: true,
        accept: chat2.takes.value.extensions.join(","),
        onChange: (event) => {
          chat2.uploads.add([...event.currentTarget.files]);
          event.currentTarget.value = "";
        }
      }
    ),
    a4("button", { type: "button", class: "tool attach", "aria-label": words.attach, title: words.attach, onClick: () => field.current.click(), children: a4(Icon, { name: "clip" }) })
  ] });
}

// chat/schema.ts
var INPUTS = {
  email: "email",
  date: "date",
  "date-time": "datetime-local",
  time: "time",
  uri: "url",
  url: "url",
  password: "password"
};
var LONG = 200;
function fieldsOf(schema) {
  const properties = objectOf(schema.properties);
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  return Object.entries(properties).map(([name, given]) => {
    const found = resolved(objectOf(given), schema);
    const kind = kindOf2(found);
    return {
      name,
      label: textOf(found.title) || wordsOf(name),
      hint: textOf(found.description),
      kind,
      input: INPUTS[textOf(found.format)] ?? "text",
      required: required.has(name),
      initial: found.default ?? null,
      options: optionsOf(kind === "choices" ? resolved(objectOf(found.items), schema) : found),
      schema: found
    };
  });
}
function kindOf2(schema) {
  if (optionsOf(schema).length) return "choice";
  switch (schema.type) {
    case "boolean":
    case "integer":
    case "number":
      return schema.type;
    case "string":
      return Number(schema.maxLength) > LONG ? "long" : "text";
    case "array":
      return "choices";
    default:
      return "json";
  }
}
function optionsOf(schema) {
  if (Array.isArray(schema.enum)) return schema.enum;
  return schema.const === void 0 ? [] : [schema.const];
}
function resolved(schema, root2, depth = 0) {
  if (depth > 8) return schema;
  const { $ref, anyOf, oneOf, allOf, ...rest } = schema;
  if (typeof $ref === "string" && $ref.startsWith("#/")) {
    let target = root2;
    for (const part of $ref.slice(2).split("/")) target = objectOf(target)[part] ?? null;
    return { ...resolved(objectOf(target), root2, depth + 1), ...rest };
  }
  const choices = [anyOf, oneOf, allOf].find(Array.isArray);
  const first = choices?.map(objectOf).find((one) => one.type !== "null");
  return first ? { ...resolved(first, root2, depth + 1), ...rest } : schema;
}
function objectOf(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
function textOf(value) {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : "";
}
function wordsOf(name) {
  const words2 = name.replace(/([a-z])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").trim();
  return words2 ? words2[0].toUpperCase() + words2.slice(1) : name;
}
function valueOf(field, form) {
  if (field.kind === "boolean") return form.get(field.name) !== null;
  if (field.kind === "choices" && field.options.length)
    return form.getAll(field.name).map((at) => field.options[Number(at)] ?? null);
  const text = String(form.get(field.name) ?? "").trim();
  if (!text) {
    if (field.required) throw new Error(words.empty);
    return void 0;
  }
  if (field.kind === "choice") return field.options[Number(text)];
  if (field.kind === "number" || field.kind === "integer") {
    const number = Number(text);
    if (!Number.isFinite(number)) throw new Error(words.number);
    if (field.kind === "integer" && !Number.isInteger(number)) throw new Error(words.integer);
    return number;
  }
  if (field.kind === "choices") return text.split(/\s*,\s*/);
  if (field.kind === "json") {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  return text;
}

// chat/card.tsx
function Card(props) {
  return Array.isArray(props.card.body) ? a4(AdaptiveCard, { ...props }) : a4(SimpleCard, { card: props.card });
}
function SimpleCard({ card }) {
  const links = listOf(card.links);
  const title = textOf(card.title);
  const rest = Object.entries(card).filter(
    ([name, value]) => !SIMPLE.has(name) && ["string", "number", "boolean"].includes(typeof value)
  );
  const facts = [...listOf(card.facts), ...rest.map(([title2, value]) => ({ title: title2, value: String(value) }))];
  return a4("div", { class: "card", children: [
    a4(Picture, { address: card.image, label: title }),
    title && a4("p", { class: "card-title", children: title }),
    textOf(card.subtitle) && a4("p", { class: "note", children: textOf(card.subtitle) }),
    textOf(card.text) && a4(Plain, { text: textOf(card.text) }),
    a4(Facts, { facts }),
    isAddress(card.url) && a4(OpenLink, { address: card.url, label: textOf(card.label) || words.open }),
    links.map((link, at) => a4(OpenLink, { address: link.url, label: textOf(link.label) }, at))
  ] });
}
var SIMPLE = /* @__PURE__ */ new Set(["title", "subtitle", "text", "image", "facts", "url", "label", "links", "type"]);
function AdaptiveCard({ card, open, sent, send }) {
  const submit = (event) => {
    event.preventDefault();
    const button = event.submitter;
    const action = listOf(card.actions)[Number(button?.value ?? -1)] ?? {};
    const values = Object.fromEntries(
      [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value)])
    );
    send({ ...objectOf(action.data), ...values }, textOf(action.title) || words.send);
  };
  return a4("form", { class: "card", onSubmit: submit, noValidate: true, children: a4("fieldset", { disabled: !open, children: [
    a4("legend", { class: "hidden", children: textOf(card.speak) || words.card }),
    listOf(card.body).map((element, at) => a4(Element, { element, sent: objectOf(sent), fallback: textOf(card.fallbackText) }, at)),
    a4("div", { class: "actions", children: listOf(card.actions).map(
      (action, at) => action.type === "Action.OpenUrl" ? a4(OpenLink, { address: action.url, label: textOf(action.title) }, at) : action.type === "Action.Submit" && a4("button", { type: "submit", class: "button", value: at, children: textOf(action.title) || words.send }, at)
    ) })
  ] }) });
}
function Element({ element, sent, fallback }) {
  const inside = (items2) => listOf(items2).map((item, at) => a4(Element, { element: item, sent, fallback }, at));
  switch (element.type) {
    case "TextBlock": {
      const isTitle = element.style === "heading" || element.weight === "Bolder" || element.size === "Large";
      return isTitle ? a4("p", { class: "card-title", children: textOf(element.text) }) : a4(Markdown, { text: textOf(element.text) });
    }
    case "RichTextBlock":
      return a4("p", { children: listOf(element.inlines).map((run) => textOf(run.text)).join("") });
    case "Image":
      return a4(Picture, { address: element.url, label: textOf(element.altText) });
    case "FactSet":
      return a4(Facts, { facts: listOf(element.facts) });
    case "Container":
    case "Column":
      return a4("div", { children: inside(element.items) });
    case "ColumnSet":
      return a4("div", { class: "columns", children: inside(element.columns) });
    default:
      if (textOf(element.type).startsWith("Input.") && element.id) return a4(Input, { element, sent });
      return fallback ? a4("p", { class: "note", children: fallback }) : null;
  }
}
function Input({ element, sent }) {
  const name = textOf(element.id);
  const value = textOf(sent[name] ?? element.value);
  const label = textOf(element.label) || textOf(element.placeholder) || textOf(element.title) || name;
  const kind = textOf(element.type).slice("Input.".length);
  if (kind === "Toggle")
    return a4("label", { class: "option", children: [
      a4("input", { type: "checkbox", name, value: "true", defaultChecked: value === "true" }),
      a4("span", { children: textOf(element.title) || label })
    ] });
  return a4("label", { class: "field", children: [
    a4("span", { children: label }),
    kind === "ChoiceSet" ? a4("select", { name, children: listOf(element.choices).map((choice, at) => a4("option", { value: textOf(choice.value), selected: textOf(choice.value) === value, children: textOf(choice.title) }, at)) }) : element.isMultiline === true ? a4("textarea", { name, rows: 3, defaultValue: value }) : a4(
      "input",
      {
        name,
        type: kind === "Date" ? "date" : kind === "Time" ? "time" : "text",
        inputMode: kind === "Number" ? "decimal" : void 0,
        defaultValue: value,
        dir: "auto"
      }
    )
  ] });
}
function Facts({ facts }) {
  if (!facts.length) return null;
  return a4("dl", { class: "facts", children: facts.map((fact, at) => a4("div", { children: [
    a4("dt", { children: textOf(fact.title) }),
    a4("dd", { dir: "auto", children: textOf(fact.value) })
  ] }, at)) });
}
function Picture({ address, label }) {
  if (typeof address !== "string") return null;
  const isOurs = address.startsWith("data:image/") || /^\/(?!\/)/.test(address) && URL.canParse(address, location.href);
  if (isOurs) return a4("img", { class: "picture", src: address, alt: label, loading: "lazy" });
  return linked(address, label ? `${words.picture}: ${label}` : words.picture, null);
}
function OpenLink({ address, label }) {
  if (!isAddress(address)) return null;
  return a4("a", { class: "button", href: address, target: "_blank", rel: "noopener noreferrer nofollow", children: [
    label || words.open,
    a4(Icon, { name: "out" })
  ] });
}
function listOf(value) {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

// chat/form.tsx
function Form({ schema, sent, before, open, send }) {
  const fields = fieldsOf(schema);
  const [problems, setProblems] = d2({});
  const element = T2(null);
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const data = {};
    const found = {};
    for (const field of fields) {
      try {
        const value = valueOf(field, form);
        if (value !== void 0) data[field.name] = value;
      } catch (error) {
        found[field.name] = error.message;
      }
    }
    setProblems(found);
    const first = fields.find((field) => field.name in found);
    if (first) element.current?.elements.namedItem(first.name)?.focus?.();
    else send(data, summaryOf(fields, data));
  };
  if (!open)
    return a4("p", { class: "note done", children: [
      a4(Icon, { name: sent === void 0 ? "close" : "check" }),
      sent === void 0 ? words.formOpen : words.formSent
    ] });
  return a4("form", { class: "form", ref: element, onSubmit: submit, noValidate: true, children: a4("fieldset", { children: [
    a4("legend", { class: "hidden", children: textOf(schema.title) || words.form }),
    fields.map((field) => a4(FieldView, { field, value: objectOf(before)[field.name] ?? field.initial, problem: problems[field.name] }, field.name)),
    a4("button", { type: "submit", class: "button primary", children: words.send })
  ] }) });
}
function summaryOf(fields, data) {
  return fields.filter((field) => data[field.name] !== void 0).map((field) => `${field.label}: ${wordOf(data[field.name])}`).join("\n");
}
function wordOf(value) {
  if (typeof value === "boolean") return value ? words.yes : words.no;
  if (Array.isArray(value)) return value.map(wordOf).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
function FieldView({ field, value, problem }) {
  const id = P2();
  const hints = [field.hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ");
  const shared = {
    id,
    name: field.name,
    required: field.required,
    "aria-invalid": problem ? "true" : void 0,
    "aria-describedby": hints || void 0
  };
  const below = a4($, { children: [
    field.hint && a4("p", { class: "note", id: `${id}-hint`, children: field.hint }),
    problem && a4("p", { class: "problem", id: `${id}-problem`, children: problem })
  ] });
  if (field.kind === "boolean")
    return a4("div", { class: "field", children: [
      a4("label", { class: "option", children: [
        a4("input", { type: "checkbox", ...shared, required: false, defaultChecked: value === true }),
        a4("span", { children: field.label })
      ] }),
      below
    ] });
  if (field.kind === "choices" && field.options.length)
    return a4("fieldset", { class: "field", children: [
      a4("legend", { children: field.label }),
      field.options.map((option, at) => a4("label", { class: "option", children: [
        a4(
          "input",
          {
            type: "checkbox",
            name: field.name,
            value: at,
            defaultChecked: Array.isArray(value) && value.includes(option)
          }
        ),
        a4("span", { children: wordOf(option) })
      ] }, at)),
      below
    ] });
  return a4("div", { class: "field", children: [
    a4("label", { for: id, children: [
      field.label,
      !field.required && a4("span", { class: "note", children: [
        " (",
        words.optional,
        ")"
      ] })
    ] }),
    a4(Control, { field, value, shared }),
    below
  ] });
}
function Control({ field, value, shared }) {
  const text = value === null ? "" : wordOf(value);
  if (field.kind === "choice")
    return a4("select", { ...shared, defaultValue: value === null ? "" : String(field.options.indexOf(value)), children: [
      a4("option", { value: "", children: words.choose }),
      field.options.map((option, at) => a4("option", { value: at, selected: value !== null && option === value, children: wordOf(option) }, at))
    ] });
  if (field.kind === "long" || field.kind === "json") return a4("textarea", { ...shared, rows: 3, defaultValue: text });
  const isNumber = field.kind === "number" || field.kind === "integer";
  return a4(
    "input",
    {
      ...shared,
      type: isNumber ? "text" : field.input,
      inputMode: isNumber ? field.kind === "integer" ? "numeric" : "decimal" : void 0,
      autocomplete: field.input === "email" ? "email" : "on",
      defaultValue: text,
      dir: "auto"
    }
  );
}

// chat/message.tsx
var TIME = new Intl.DateTimeFormat(void 0, { hour: "2-digit", minute: "2-digit" });
var LineView = class extends x {
  shouldComponentUpdate(next) {
    const names = ["line", "follows", "timed", "open", "answer"];
    return names.some((name) => this.props[name] !== next[name]);
  }
  render({ line, chat: chat2, follows, timed, open, answer }) {
    const { payload, number, direction } = line;
    const text = payload.text ?? "";
    const isIn = direction === "in";
    const send = (data, said) => chat2.send({ data: data ?? null, text: said, reply: number });
    return a4("li", { class: `line ${direction}${follows ? " follows" : ""}`, children: [
      a4("span", { class: "hidden", children: `${isIn ? words.you : line.author ?? words.reply}:` }),
      !isIn && line.author && !follows && a4("p", { class: "author", "aria-hidden": "true", children: [
        a4(Icon, { name: "person" }),
        line.author
      ] }),
      text && a4("div", { class: "bubble", children: payload.markdown ? a4(Markdown, { text }) : a4(Plain, { text }) }),
      payload.files && a4(Files, { files: payload.files }),
      payload.card && a4(Card, { card: payload.card, open, sent: answer?.data, send }),
      payload.form && a4(Form, { schema: payload.form, open, sent: answer?.data, before: chat2.lastData.peek(), send }),
      payload.buttons && a4(Buttons, { line, chat: chat2, open, chosen: answer?.choice }),
      timed && a4("time", { class: "time", dateTime: line.at, dir: "ltr", children: TIME.format(new Date(line.at)) })
    ] });
  }
};
function Buttons({ line, chat: chat2, open, chosen }) {
  return a4("div", { class: "buttons", role: "group", "aria-label": words.answers, children: line.payload.buttons.map(({ label, value }) => a4(
    "button",
    {
      type: "button",
      class: `button${value === chosen ? " chosen" : ""}`,
      disabled: !open,
      "aria-pressed": chosen === void 0 ? void 0 : value === chosen,
      onClick: () => chat2.send({ text: label, choice: value, reply: line.number }),
      children: [
        value === chosen && a4(Icon, { name: "check" }),
        label
      ]
    },
    value
  )) });
}
function DraftView({ draft, follows }) {
  return a4("li", { class: `line out draft${follows ? " follows" : ""}`, "aria-hidden": "true", children: a4("div", { class: "bubble", children: draft.markdown ? a4(Markdown, { text: draft.text }) : a4(Plain, { text: draft.text }) }) });
}
function PendingView({ item, chat: chat2, follows }) {
  const { message, status } = item;
  return a4("li", { class: `line in pending ${status}${follows ? " follows" : ""}`, children: [
    a4("span", { class: "hidden", children: [
      words.you,
      ":"
    ] }),
    message.text && a4("div", { class: "bubble", children: a4(Plain, { text: message.text }) }),
    message.files && a4(Files, { files: message.files }),
    a4("p", { class: "time", children: [
      a4(Icon, { name: status === "failed" ? "warning" : status === "sent" ? "check" : "clock" }),
      item.problem ?? words[status],
      status === "failed" && a4($, { children: [
        a4("button", { type: "button", class: "link", onClick: () => chat2.outbox.retry(message.id), children: words.again }),
        a4("button", { type: "button", class: "link", onClick: () => chat2.outbox.drop(message.id), children: words.remove })
      ] })
    ] })
  ] });
}
function Typing() {
  return a4("li", { class: "line out typing", children: [
    a4("span", { class: "hidden", children: words.typing }),
    a4("div", { class: "bubble", "aria-hidden": "true", children: [
      a4("i", {}),
      a4("i", {}),
      a4("i", {})
    ] })
  ] });
}

// chat/log.tsx
var NEAR_PX = 48;
var TOGETHER_MS = 3e5;
function Log({ chat: chat2, settings: settings2 }) {
  const box = T2(null);
  const atEnd = T2(true);
  const seen = useSignal(0);
  const loading = useSignal(false);
  const unread = useComputed(
    () => chat2.lines.value.filter((line) => line.direction === "out" && line.number > seen.value).length
  );
  const follow = () => {
    const element = box.current;
    if (!element) return;
    atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
    if (atEnd.current) seen.value = chat2.lastReply.peek();
  };
  const toEnd = () => {
    const element = box.current;
    if (element) element.scrollTop = element.scrollHeight;
  };
  const drawn = () => {
    if (atEnd.current) toEnd();
    follow();
  };
  F2(drawn);
  useSignalEffect(() => {
    if (chat2.outbox.items.value.some((item) => item.status === "waiting")) atEnd.current = true;
  });
  A2(() => {
    const resized = new ResizeObserver(() => atEnd.current && toEnd());
    resized.observe(box.current);
    resized.observe(box.current.firstElementChild);
    return () => resized.disconnect();
  }, []);
  const earlier2 = async () => {
    const element = box.current;
    const height = element.scrollHeight;
    loading.value = true;
    try {
      await chat2.loadEarlier();
    } finally {
      requestAnimationFrame(() => {
        element.scrollTop += element.scrollHeight - height;
        loading.value = false;
      });
    }
  };
  const lines = chat2.lines.value;
  const last = lines.at(-1);
  const isEmpty = !lines.length && !chat2.outbox.items.value.length;
  return a4("div", { class: "log", ref: box, onScroll: follow, tabIndex: 0, role: "region", "aria-label": words.messages, children: [
    a4("div", { class: "column", children: [
      chat2.hasEarlier.value && a4("button", { type: "button", class: "button earlier", disabled: loading.value, onClick: () => void earlier2(), children: words.earlier }),
      isEmpty && chat2.ready.value && a4("div", { class: "greeting", children: [
        a4(Avatar, { name: settings2.title }),
        a4("p", { dir: "auto", children: settings2.title }),
        a4("p", { dir: "auto", children: settings2.greeting })
      ] }),
      a4("div", { class: "lines", role: "log", "aria-label": words.conversation, "aria-live": loading.value ? "off" : "polite", children: a4("ol", { children: [
        lines.map((line, at) => [
          startsDay(line, lines[at - 1]) && a4(Day, { at: line.at }, `day-${line.number}`),
          a4(
            LineView,
            {
              line,
              chat: chat2,
              follows: belongs(line, lines[at - 1]),
              timed: isApart(line, lines[at + 1]),
              open: line.number > chat2.lastSaid.value,
              answer: chat2.answers.value.get(line.number)
            },
            line.number
          )
        ]),
        a4(Tail, { chat: chat2, follows: last?.direction === "out", drawn }),
        chat2.outbox.items.value.map((item) => a4(PendingView, { item, chat: chat2, follows: last?.direction === "in" }, item.message.id)),
        chat2.isTyping.value && a4(Typing, {})
      ] }) })
    ] }),
    unread.value > 0 && !atEnd.current && a4("button", { type: "button", class: "button pill", onClick: toEnd, children: [
      a4(Icon, { name: "down" }),
      phrase(words.fresh, unread.value)
    ] })
  ] });
}
function Tail({ chat: chat2, follows, drawn }) {
  F2(drawn);
  const draft = chat2.draft.value;
  return a4($, { children: draft && a4(DraftView, { draft, follows }) });
}
function belongs(line, before) {
  return before?.direction === line.direction && before.author === line.author && !isApart(before, line);
}
function isApart(line, next) {
  return next === void 0 || Date.parse(next.at) - Date.parse(line.at) > TOGETHER_MS;
}
function startsDay(line, before) {
  const day = (at) => new Date(at).toDateString();
  return before ? day(line.at) !== day(before.at) : day(line.at) !== (/* @__PURE__ */ new Date()).toDateString();
}
var DAY = new Intl.DateTimeFormat(void 0, { weekday: "long", day: "numeric", month: "long" });
function Day({ at }) {
  return a4("li", { class: "day", children: a4("span", { children: DAY.format(new Date(at)) }) });
}

// chat/app.tsx
var MOST_CHARACTERS = 16e3;
function App({ chat: chat2, host: host2, settings: settings2 }) {
  const { dragged, ...drop } = useDrop(chat2);
  return a4("div", { class: "chat", onKeyDown: (event) => event.key === "Escape" && host2.close(), ...drop, children: [
    a4(Head, { chat: chat2, host: host2, settings: settings2 }),
    chat2.closed.value ? a4("main", { class: "closed", children: a4("p", { children: chat2.closed.value }) }) : a4($, { children: [
      a4("main", { class: "main", children: [
        a4(Log, { chat: chat2, settings: settings2 }),
        dragged && a4("p", { class: "drop", "aria-hidden": "true", children: [
          a4(Icon, { name: "clip" }),
          words.dropHere
        ] })
      ] }),
      a4("footer", { class: "foot", children: a4(Composer, { chat: chat2, placeholder: settings2.placeholder, most: MOST_CHARACTERS }) })
    ] })
  ] });
}
function useDrop(chat2) {
  const dragged = useSignal(false);
  const hasFiles = (event) => !!event.dataTransfer?.types.includes("Files");
  return {
    dragged: dragged.value && chat2.takes.value !== null,
    onDragOver(event) {
      if (!hasFiles(event)) return;
      event.preventDefault();
      dragged.value = true;
    },
    onDragLeave(event) {
      if (!event.currentTarget.contains(event.relatedTarget)) dragged.value = false;
    },
    onDrop(event) {
      if (!hasFiles(event)) return;
      event.preventDefault();
      dragged.value = false;
      chat2.uploads.add(event.dataTransfer.files);
    }
  };
}
function Head({ chat: chat2, host: host2, settings: settings2 }) {
  const dialog = T2(null);
  const failed = useSignal(false);
  const restart2 = async () => {
    failed.value = false;
    try {
      await chat2.restart();
      dialog.current?.close();
    } catch {
      failed.value = true;
    }
  };
  return a4("header", { class: "head", children: [
    a4("div", { class: "column", children: [
      a4(Avatar, { name: settings2.title }),
      a4("div", { class: "name", children: [
        a4("h1", { children: a4("bdi", { children: settings2.title }) }),
        a4(Status, { chat: chat2 })
      ] }),
      chat2.lines.value.length > 0 && a4("button", { type: "button", class: "tool", "aria-label": words.over, title: words.over, onClick: () => dialog.current?.showModal(), children: a4(Icon, { name: "restart" }) }),
      host2.isFramed && a4("button", { type: "button", class: "tool", "aria-label": words.close, title: words.close, onClick: () => host2.close(), children: a4(Icon, { name: "close" }) })
    ] }),
    a4("dialog", { ref: dialog, "aria-labelledby": "over", onKeyDown: (event) => event.stopPropagation(), children: [
      a4("h2", { id: "over", children: words.overAsk }),
      a4("p", { children: words.overMeans }),
      failed.value && a4("p", { class: "problem", children: words.overFailed }),
      a4("div", { class: "actions", children: [
        a4("button", { type: "button", class: "button", onClick: () => dialog.current?.close(), children: words.cancel }),
        a4("button", { type: "button", class: "button primary", onClick: () => void restart2(), children: words.over })
      ] })
    ] })
  ] });
}
function Status({ chat: chat2 }) {
  const person = chat2.standing.value.person;
  const isOffline = chat2.link.value === "lost";
  const text = isOffline ? navigator.onLine ? words.reconnecting : words.offline : chat2.link.value === "connecting" ? words.connecting : person ? phrase(words.answering, person) : words.online;
  return a4("p", { class: `status ${isOffline ? "lost" : chat2.link.value}`, role: "status", children: [
    person && !isOffline && a4(Icon, { name: "person" }),
    a4("span", { children: text })
  ] });
}

// chat/outbox.ts
var PAUSES_MS = [500, 1e3, 2e3, 5e3, 1e4];
var Outbox = class {
  constructor(mail, key) {
    this.mail = mail;
    this.key = key;
    addEventListener("online", () => this.hurry());
  }
  mail;
  key;
  items = y3([]);
  working = false;
  wake = null;
  /** Take up what an earlier page of this browser could not send. */
  load() {
    try {
      const kept = JSON.parse(localStorage.getItem(this.key()) ?? "[]");
      const known2 = new Set(this.items.value.map((item) => item.message.id));
      const found = kept.filter((item) => item?.message?.id && !known2.has(item.message.id));
      this.items.value = [...found.map((item) => ({ ...item, status: "waiting" })), ...this.items.value];
    } catch {
    }
    void this.work();
  }
  add(message) {
    this.items.value = [...this.items.value, { message, at: (/* @__PURE__ */ new Date()).toISOString(), status: "waiting" }];
    this.keep();
    void this.work();
  }
  retry(id) {
    this.change(id, { status: "waiting" });
    void this.work();
  }
  drop(id) {
    this.items.value = this.items.value.filter((item) => item.message.id !== id);
    this.keep();
  }
  clear() {
    this.items.value = [];
    this.keep();
  }
  /** The transcript has these messages. */
  arrived(ids) {
    if (this.items.value.some((item) => ids.has(item.message.id))) {
      this.items.value = this.items.value.filter((item) => !ids.has(item.message.id));
      this.keep();
    }
  }
  hurry() {
    this.wake?.();
  }
  async work() {
    if (this.working) return;
    this.working = true;
    let failures = 0;
    for (let item = this.next(); item; item = this.next()) {
      const outcome = await this.attempt(item);
      failures = outcome === null ? 0 : failures + 1;
      if (outcome !== null) await this.pause(outcome || PAUSES_MS[Math.min(failures, PAUSES_MS.length) - 1]);
    }
    this.working = false;
  }
  next() {
    return this.items.value.find((item) => item.status === "waiting");
  }
  /** Try once; returns null when that settled it, or how long to wait (0: as usual). */
  async attempt({ message }) {
    this.change(message.id, { status: "sending" });
    try {
      await this.mail.send(message);
      this.change(message.id, { status: "sent" });
      this.keep();
      this.mail.sent();
      return null;
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) {
        await this.mail.renew().catch(() => void 0);
      } else if (error instanceof Refusal && !error.passes) {
        this.change(message.id, { status: "failed", problem: problemOf2(error) });
        return null;
      }
      this.change(message.id, { status: "waiting" });
      if (!(error instanceof Refusal)) this.mail.lost();
      return error instanceof Refusal ? error.retryAfter * 1e3 : 0;
    }
  }
  pause(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.wake?.(), ms);
      this.wake = () => {
        clearTimeout(timer);
        this.wake = null;
        resolve();
      };
    });
  }
  change(id, change) {
    this.items.value = this.items.value.map((item) => item.message.id === id ? { ...item, ...change } : item);
  }
  keep() {
    const unsent = this.items.value.filter((item) => item.status !== "sent");
    try {
      if (unsent.length) localStorage.setItem(this.key(), JSON.stringify(unsent));
      else localStorage.removeItem(this.key());
    } catch {
    }
  }
};
function problemOf2(refusal2) {
  switch (refusal2.code) {
    case "too_large":
      return words.tooLong;
    case "session_busy":
      return words.busy;
    case "session_full":
      return words.full;
    case "web_chat_not_found":
      return words.closed;
    default:
      return words.failed;
  }
}

// chat/stream.ts
var PAUSES_MS2 = [250, 1e3, 2e3, 5e3, 1e4];
var SILENCE_MS = 4e4;
var HIDDEN_MS = 5e3;
var Stream = class {
  constructor(listener, name) {
    this.listener = listener;
    this.name = name;
    document.addEventListener("visibilitychange", () => this.visibilityChanged());
    addEventListener("online", () => this.hurry());
    addEventListener("offline", () => this.connection?.abort());
    addEventListener("pageshow", () => this.hurry());
  }
  listener;
  name;
  /** What is to be read; null while nothing is. A new one takes the place of the last. */
  reading = null;
  connection = null;
  live = false;
  failures = 0;
  wake = null;
  hiding;
  get isLive() {
    return this.live;
  }
  get isWanted() {
    return this.reading !== null;
  }
  start() {
    if (this.reading) return;
    this.reading = new AbortController();
    this.failures = 0;
    void this.run(this.reading.signal, this.name());
  }
  stop() {
    this.reading?.abort();
    this.reading = null;
    this.connection?.abort();
    this.wake?.();
  }
  /** Try again now. */
  hurry() {
    this.failures = 0;
    this.wake?.();
  }
  visibilityChanged() {
    clearTimeout(this.hiding);
    if (document.visibilityState === "visible") this.hurry();
    else this.hiding = setTimeout(() => this.connection?.abort(), HIDDEN_MS);
  }
  async run(stopped, name) {
    const others = new BroadcastChannel(name);
    while (!stopped.aborted) {
      if (!isHidden()) await this.take(stopped, name, others);
      if (!stopped.aborted) await this.pause(isHidden());
    }
    others.close();
  }
  /** Read, or hear from the tab that does until it is this one's turn. */
  async take(stopped, name, others) {
    let isTaken;
    try {
      isTaken = await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
        if (lock) await this.connect(stopped, others);
        return !lock;
      });
    } catch {
      return this.connect(stopped, others);
    }
    if (isTaken && !stopped.aborted) await this.hear(stopped, name, others);
  }
  async hear(stopped, name, others) {
    const waiting = new AbortController();
    this.connection = waiting;
    others.onmessage = ({ data }) => {
      if ("event" in data) this.listener.event(data);
      else if ("link" in data) this.linked(data.link);
    };
    this.linked("live");
    this.listener.behind();
    others.postMessage({ joins: true });
    const signal = AbortSignal.any([stopped, waiting.signal]);
    try {
      await navigator.locks.request(name, { signal }, () => isHidden() ? void 0 : this.connect(stopped, others));
    } catch {
      if (!stopped.aborted) this.linked("lost");
    } finally {
      others.onmessage = null;
    }
  }
  linked(link) {
    this.live = link === "live";
    this.listener.link(link);
  }
  async connect(stopped, others) {
    const connection = new AbortController();
    const tell = (word) => others.postMessage(word);
    others.onmessage = ({ data }) => {
      const draft = "joins" in data ? this.listener.draft() : null;
      if (draft) tell(draft);
    };
    this.connection = connection;
    let watch = setTimeout(() => connection.abort(), SILENCE_MS);
    const heard = () => {
      clearTimeout(watch);
      watch = setTimeout(() => connection.abort(), SILENCE_MS);
    };
    try {
      const response = await openEvents(this.listener.after(), connection.signal);
      this.failures = 0;
      this.linked("live");
      tell({ link: "live" });
      for await (const event of readEvents(response, heard)) {
        if (stopped.aborted) return;
        this.listener.event(event);
        tell(event);
      }
    } catch (error) {
      if (!stopped.aborted && error instanceof Refusal && !error.passes) {
        this.stop();
        this.listener.refused(error);
      }
    } finally {
      clearTimeout(watch);
      connection.abort();
      if (!stopped.aborted) {
        this.linked("lost");
        tell({ link: "lost" });
      }
    }
    this.failures += 1;
  }
  pause(untilVisible) {
    const ms = PAUSES_MS2[Math.min(this.failures - 1, PAUSES_MS2.length - 1)] ?? 0;
    return new Promise((resolve) => {
      const timer = untilVisible ? void 0 : setTimeout(() => this.wake?.(), ms * (0.75 + Math.random() / 2));
      this.wake = () => {
        clearTimeout(timer);
        this.wake = null;
        resolve();
      };
    });
  }
};
function isHidden() {
  return document.visibilityState === "hidden";
}

// chat/conversation.ts
var Conversation = class {
  lines = y3([]);
  draft = y3(null);
  standing = y3({ state: "idle", person: null });
  link = y3("connecting");
  hasEarlier = y3(false);
  /** Why there is no chat here. */
  closed = y3(null);
  ready = y3(false);
  /** The files that the chat takes; null: none. */
  takes = y3(null);
  uploads = new Uploads(() => this.takes.value);
  outbox;
  /** The number of the last reply. */
  lastReply = O(() => this.lines.value.findLast((line) => line.direction === "out")?.number ?? 0);
  /** What a visitor did with the buttons, the form or the card of a reply, by its number. */
  answers = O(() => {
    const found = /* @__PURE__ */ new Map();
    for (const { message } of this.outbox.items.value) if (message.reply) found.set(message.reply, message);
    for (const { direction, payload } of this.lines.value)
      if (direction === "in" && payload.reply) found.set(payload.reply, payload);
    return found;
  });
  /** Replies after this line can still be answered: the visitor has said nothing since. */
  lastSaid = O(
    () => this.outbox.items.value.some((item) => item.status !== "failed") ? Infinity : this.lines.value.findLast((line) => line.direction === "in")?.number ?? 0
  );
  /** The values of the form that was sent last: when it is asked for again, it is not empty. */
  lastData = O(() => this.lines.value.findLast((line) => line.payload.reply)?.payload.data);
  isTyping = O(
    () => this.standing.value.state === "running" && this.draft.value === null && this.link.value === "live"
  );
  number = 0;
  /** The characters of the draft. */
  length = 0;
  frame = 0;
  next = null;
  stream;
  news;
  constructor() {
    const place = location.pathname;
    this.outbox = new Outbox(
      {
        send: say,
        renew: () => this.begin(),
        sent: () => {
          if (!this.stream.isWanted) this.link.value = "live";
          this.stream.start();
          this.news.postMessage("sent");
        },
        lost: () => this.linked("lost")
      },
      () => `holdfast:outbox:${place}:${this.number}`
    );
    this.stream = new Stream(
      {
        after: () => this.lines.value.at(-1)?.number ?? 0,
        event: (event) => this.happened(event),
        link: (link) => this.linked(link),
        refused: (refusal2) => this.refused(refusal2),
        behind: () => void this.begin(),
        draft: () => this.draftSoFar()
      },
      () => `holdfast:events:${place}:${this.number}`
    );
    this.news = new BroadcastChannel(`holdfast:chat:${place}`);
    this.news.onmessage = ({ data }) => {
      if (data === "restarted") void this.begin();
      else this.stream.start();
    };
  }
  /** Begin the visit, or continue it; tries until the server answers. */
  async begin() {
    for (let pause = 500; ; pause = Math.min(pause * 2, 1e4)) {
      try {
        this.show(await begin());
        return;
      } catch (error) {
        if (error instanceof Refusal && !error.passes) {
          this.closed.value = words.nothing;
          return;
        }
        this.link.value = "lost";
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }
  say(text, files = []) {
    this.send({ ...text && { text }, ...files.length > 0 && { files } });
  }
  /** Say something; returns its id. */
  send(content) {
    this.outbox.add({ id: newId(), ...content });
  }
  async restart() {
    const visit = await restart();
    this.outbox.clear();
    this.uploads.clear();
    this.show(visit);
    this.news.postMessage("restarted");
  }
  async loadEarlier() {
    const first = this.lines.value[0]?.number ?? 1;
    const { items: items2, more } = await earlier(first);
    r3(() => {
      this.hasEarlier.value = more;
      this.merge(items2);
    });
  }
  show(visit) {
    r3(() => {
      if (visit.conversation !== this.number) {
        this.stream.stop();
        this.lines.value = [];
        this.setDraft(null);
      }
      this.number = visit.conversation;
      this.takes.value = visit.files;
      this.hasEarlier.value = visit.more;
      this.standing.value = visit.standing;
      this.link.value = "live";
      this.merge(visit.lines);
      this.ready.value = true;
    });
    this.outbox.load();
    if (visit.lines.length || visit.standing.state !== "idle") this.stream.start();
  }
  linked(link) {
    if (link === "live") this.link.value = link;
    else setTimeout(() => this.stream.isLive || (this.link.value = "lost"), 600);
  }
  refused(refusal2) {
    if (refusal2.code === "session_not_found") {
      this.lines.value = [];
      this.setDraft(null);
      this.link.value = "live";
    } else if (refusal2.status === 401) void this.begin();
    else this.closed.value = words.closed;
  }
  happened({ event, data }) {
    if (event === "line") this.merge([JSON.parse(data)]);
    else if (event === "part") this.write(JSON.parse(data));
    else if (event === "standing") this.standing.value = JSON.parse(data);
  }
  merge(found) {
    if (!found.length) return;
    r3(() => {
      const lines = this.lines.value;
      const last = lines.at(-1)?.number ?? 0;
      if (found[0].number > last) this.lines.value = [...lines, ...found];
      else {
        const known2 = new Map(lines.map((line) => [line.number, line]));
        for (const line of found) if (!known2.has(line.number)) known2.set(line.number, line);
        this.lines.value = [...known2.values()].sort((a5, b3) => a5.number - b3.number);
      }
      const draft = this.next ?? this.draft.value;
      if (draft && draft.number <= found.at(-1).number) this.setDraft(null);
      this.outbox.arrived(new Set(found.flatMap((line) => line.id === null ? [] : [line.id])));
    });
  }
  /** Add a part of a reply. Offsets count characters, not units of UTF-16. */
  write(part) {
    if (part.number <= (this.lines.value.at(-1)?.number ?? 0)) return;
    const current = this.next ?? this.draft.value;
    const known2 = current?.number === part.number ? current.text : "";
    if (!known2) this.length = 0;
    if (part.start > this.length) return;
    const kept = part.start >= this.length ? known2 : Array.from(known2).slice(0, part.start).join("");
    const added = Array.from(part.text).length;
    this.length = Math.min(part.start, this.length) + added;
    this.next = { number: part.number, text: kept + part.text, markdown: part.markdown };
    this.frame ||= requestAnimationFrame(() => this.flush());
  }
  draftSoFar() {
    const draft = this.next ?? this.draft.value;
    return draft && { event: "part", data: JSON.stringify({ ...draft, start: 0 }) };
  }
  flush() {
    this.frame = 0;
    if (this.next) this.draft.value = this.next;
    this.next = null;
  }
  setDraft(draft) {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.next = null;
    this.length = 0;
    this.draft.value = draft;
  }
};
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// chat/host.ts
var Host = class {
  constructor(origin, chat2) {
    this.origin = origin;
    this.isFramed = window.parent !== window && origin !== null;
    if (!this.isFramed) return;
    addEventListener("message", (event) => {
      if (event.source !== window.parent || event.origin !== origin) return;
      const { holdfast, text } = event.data ?? {};
      if (holdfast === "send" && typeof text === "string" && text.trim()) chat2.say(text);
      else if (holdfast === "focus") document.getElementById("message")?.focus();
    });
    x2(() => this.notify("reply", { number: chat2.lastReply.value }));
    this.notify("ready");
  }
  origin;
  isFramed;
  close() {
    this.notify("close");
  }
  notify(what, more = {}) {
    if (this.isFramed) window.parent.postMessage({ holdfast: what, ...more }, this.origin);
  }
};

// design/colour.ts
var HEX = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i;
function inkOn(colour) {
  const digits = colour.length === 4 ? colour.slice(1).replace(/./g, "$&$&") : colour.slice(1);
  const [red, green, blue] = [0, 2, 4].map((at) => {
    const value = parseInt(digits.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return luminance > 0.179 ? "#000000" : "#ffffff";
}

// chat/settings.ts
var RTL = /* @__PURE__ */ new Set(["ar", "fa", "he", "ur", "yi", "ps", "sd"]);
function readSettings(fragment, path) {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const text = (name, most) => given.get(name)?.slice(0, most) || null;
  const matching = (name, form) => {
    const value = given.get(name);
    return value !== null && form.test(value) ? value : null;
  };
  const lang = matching("lang", /^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/) ?? known(navigator.languages);
  speak(lang);
  const dir = matching("dir", /^(ltr|rtl)$/) ?? (RTL.has(baseOf(lang)) ? "rtl" : "ltr");
  return {
    title: text("title", 80) ?? titleOf(path),
    greeting: text("greeting", 300) ?? words.begin,
    placeholder: text("placeholder", 80) ?? words.write,
    theme: matching("theme", /^(light|dark)$/) ?? "auto",
    accent: matching("accent", HEX),
    radius: matching("radius", /^\d{1,2}$/),
    font: matching("font", /^[A-Za-z0-9 ,"'-]{1,120}$/),
    lang,
    dir,
    host: matching("host", /^https?:\/\/[^/\s]+$/)
  };
}
function titleOf(path) {
  const name = decodeURIComponent(path.split("/").at(-1) ?? "").replace(/[-_.:]+/g, " ").trim();
  return name ? name[0].toUpperCase() + name.slice(1) : "Chat";
}
function applySettings(settings2, root2) {
  root2.lang = settings2.lang;
  root2.dir = settings2.dir;
  if (settings2.theme !== "auto") root2.dataset.theme = settings2.theme;
  if (settings2.accent) {
    root2.style.setProperty("--accent", settings2.accent);
    root2.style.setProperty("--on-accent", inkOn(settings2.accent));
  }
  if (settings2.radius) root2.style.setProperty("--radius", `${settings2.radius}px`);
  if (settings2.font) root2.style.setProperty("--font", settings2.font);
  document.title = settings2.title;
}

// chat/main.tsx
var settings = readSettings(location.hash, location.pathname);
applySettings(settings, document.documentElement);
var chat = new Conversation();
var host = new Host(settings.host, chat);
var root = document.createElement("div");
root.id = "chat";
document.body.append(root);
Q(a4(App, { chat, host, settings }), root);
void chat.begin();

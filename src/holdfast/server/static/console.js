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
  var s4, h5, v4, w5, d5, _4, g5 = u4.__k || y, k4 = t4.length;
  for (l4 = q(r4, t4, g5, l4, k4), s4 = 0; s4 < k4; s4++) null != (v4 = r4.__k[s4]) && (h5 = ~v4.__i && g5[v4.__i] || p, v4.__i = s4, _4 = z(n3, v4, h5, i4, f5, o5, e4, l4, c4, a5), w5 = v4.__e, (h5.ref != v4.ref || 8 & h5.__u) && (h5.ref && G(h5.ref, null, v4, h5), v4.ref && a5.push(v4.ref, v4.__c || w5, v4)), d5 = d5 || w5, 4 & v4.__u ? (l4 = A(v4, l4, n3, !h5.__v), h5.__e && (h5.__e = null)) : "function" == typeof v4.type && void 0 !== _4 ? l4 = _4 : w5 && (l4 = w5.nextSibling), v4.__u &= -21);
  return r4.__e = d5, l4;
}
function q(n3, t4, r4, u4, i4) {
  var f5, o5, e4, l4, c4, a5, s4, p5, y5, v4 = r4.length, d5 = v4, _4 = 0, g5 = 0, k4 = n3.__k = Array(i4);
  for (f5 = 0; f5 < i4; f5++) null != (o5 = t4[f5]) && "boolean" != typeof o5 && "function" != typeof o5 ? ("object" != typeof o5 || o5.constructor === String ? o5 = k4[f5] = m(null, o5) : w(o5) ? o5 = k4[f5] = m($, { children: o5 }) : o5.constructor === h && o5.__b ? o5 = k4[f5] = m(o5.type, o5.props, o5.key, o5.ref, o5.__v) : k4[f5] = o5, l4 = f5 + _4, o5.__ = n3, o5.__b = n3.__b + 1, e4 = null, ~(c4 = o5.__i = P(o5, r4, l4, d5)) && (d5--, (e4 = r4[c4]) && (e4.__u |= 2)), e4 && e4.__v ? (o5.__u |= 16, c4 == l4 - 1 ? _4-- : c4 == l4 + 1 ? _4++ : c4 != l4 && (c4 > l4 ? _4-- : _4++, g5 = 1)) : (~c4 || (i4 > v4 ? _4-- : i4 < v4 && _4++), "function" != typeof o5.type && (o5.__u |= 4))) : k4[f5] = null;
  if (g5) {
    for (a5 = [], s4 = [], f5 = 0; f5 < i4; f5++) if ((o5 = k4[f5]) && 16 & o5.__u) {
      for (_4 = 0, p5 = a5.length; _4 < p5; ) a5[y5 = _4 + p5 >> 1] < o5.__i ? _4 = y5 + 1 : p5 = y5;
      a5[_4] = o5.__i, s4[f5] = _4 + 1;
    }
    for (_4 = a5.length; f5--; ) s4[f5] && (s4[f5] == _4 ? _4-- : k4[f5].__u |= 4);
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
  var s4, p5, v4, d5, k4, b3, m5, M2, C3, j3, L2, H2, q2, A4, O2, P3, T4, N2, V2 = r4.type;
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
      d5.context = L2, d5.props = M2, d5.__P = t4, d5.__g &= -5, H2 = n.__r, q2 = C3 ? 25 : 0;
      do {
        d5.__g &= -9, H2 && H2(r4), s4 = d5.render(d5.props, d5.state = d5.__s, d5.context);
      } while (8 & d5.__g && ++q2 < 25);
      C3 && (y.push.apply(d5.__h, d5.__k), d5.__k = []), d5.state = d5.__s, d5.getChildContext && (i4 = _({}, i4, d5.getChildContext())), C3 && u4.__c && d5.getSnapshotBeforeUpdate && (m5 = d5.getSnapshotBeforeUpdate(k4, b3)), A4 = s4 && s4.type === $ && null == s4.key ? s4.props.children : s4, M2.__P && (s4 = l4, f5 = (t4 = M2.__P).namespaceURI, c4 = o5 = null, u4.props && u4.props.__P != t4 && (u4.__k.some(function(n3) {
        n3 && J(n3, n3);
      }), u4.__k = null), l4 = u4.__k ? S(u4, 0) : null), l4 = I(t4, w(A4) ? A4 : [A4], r4, u4, i4, f5, o5, e4, l4, c4, a5), M2.__P && (r4.__e = null, l4 = s4), r4.__u &= -161, p5 && p5.some(g), d5.__h.length && e4.push(d5), 1 & d5.__g && (d5.__g &= -4);
    } catch (t5) {
      if (e4.length = v4, r4.__v = null, c4 || o5) if (t5 && t5.then) {
        if (r4.__u |= 128 | c4, o5) {
          for (~(T4 = o5.indexOf(l4 || void 0)) || (T4 = o5.length); (N2 = o5[T4 - 1]) && 8 == N2.nodeType; ) T4--;
          for (; T4 < o5.length; T4++) if (N2 = o5[T4]) if (o5[T4] = null, O2) {
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
  var s4, h5, y5, _4, k4, b3, m5, M2, $2 = u4.props || p, x3 = r4.props, C3 = r4.type;
  if ("svg" == C3 ? f5 = "http://www.w3.org/2000/svg" : "math" == C3 ? f5 = "http://www.w3.org/1998/Math/MathML" : f5 || (f5 = "http://www.w3.org/1999/xhtml"), o5) {
    for (s4 = 0; s4 < o5.length; s4++) if ((k4 = o5[s4]) && (C3 ? k4.localName == C3 : 3 == k4.nodeType)) {
      t4 = k4, o5[s4] = null;
      break;
    }
  }
  if (!t4) {
    if (M2 = a5.ownerDocument || document, !C3) return M2.createTextNode(x3);
    t4 = M2.createElementNS(f5, C3, x3.is ? x3 : a5), l4 && (n.__m && n.__m(r4, o5), l4 = false), o5 = null;
  }
  if (C3) {
    if (a5 = "template" == C3 && t4.content || t4, o5 = "textarea" == C3 && null != x3.defaultValue ? null : o5 && d.call(a5.childNodes), !l4 && o5) for ($2 = {}, s4 = 0; s4 < t4.attributes.length; s4++) $2[(k4 = t4.attributes[s4]).name] = k4.value;
    for (s4 in $2) k4 = $2[s4], "dangerouslySetInnerHTML" == s4 ? y5 = k4 : "children" == s4 || s4 in x3 || "value" == s4 && "defaultValue" in x3 || "checked" == s4 && "defaultChecked" in x3 || N(t4, s4, null, k4, f5);
    for (s4 in x3) k4 = x3[s4], "children" == s4 ? _4 = k4 : "dangerouslySetInnerHTML" == s4 ? h5 = k4 : "value" == s4 ? b3 = k4 : "checked" == s4 ? m5 = k4 : l4 && "function" != typeof k4 || $2[s4] === k4 || N(t4, s4, k4, $2[s4], f5);
    h5 ? (l4 || y5 && (h5.__html == y5.__html || h5.__html == t4.innerHTML) || (t4.innerHTML = h5.__html), r4.__k = []) : (y5 && (t4.textContent = ""), ("foreignObject" == C3 || "http://www.w3.org/1998/Math/MathML" == f5 && v.test(C3)) && (f5 = "http://www.w3.org/1999/xhtml"), I(a5, w(_4) ? _4 : [_4], r4, u4, i4, f5, o5, e4, o5 ? o5[0] : u4.__k && S(u4, 0), l4, c4), o5 && o5.some(g)), l4 && "textarea" != C3 || (s4 = "value", "progress" == C3 && null == b3 ? t4.removeAttribute(s4) : null == b3 || b3 === t4[s4] && ("progress" != C3 || b3) || N(t4, s4, b3, $2[s4], f5), s4 = "checked", null != m5 && m5 != t4[s4] && N(t4, s4, m5, $2[s4], f5));
  } else $2 === x3 || l4 && t4.data == x3 || (t4.data = x3);
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
var A3 = function(i4) {
  queueMicrotask(function() {
    queueMicrotask(i4);
  });
};
function F3() {
  r3(function() {
    var i4;
    while (i4 = g4.shift()) h4.call(i4);
  });
}
function M() {
  if (1 === g4.push(this)) (n.requestAnimationFrame || A3)(F3);
}

// console/lib/address.ts
var root = new URL("../", import.meta.url).pathname;
var base = `${root}console/`;
var place = y3(read());
var page = O(() => place.value.path[0] ?? "");
function read() {
  const path = location.pathname.startsWith(base) ? location.pathname.slice(base.length) : "";
  return {
    path: path.split("/").filter(Boolean).map(decodeURIComponent),
    query: new URLSearchParams(location.search)
  };
}
function to(path, query2 = {}) {
  const chosen2 = new URLSearchParams();
  const tenant2 = place.value.query.get("tenant");
  if (tenant2 && !("tenant" in query2)) chosen2.set("tenant", tenant2);
  for (const [name, value] of Object.entries(query2)) if (value) chosen2.set(name, value);
  const text = chosen2.toString();
  return `${base}${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}
function here(changes) {
  const query2 = Object.fromEntries(place.value.query);
  return to(place.value.path, { ...query2, ...changes });
}
function go(address, options2 = {}) {
  if (options2.replace) history.replaceState(null, "", address);
  else {
    history.pushState(null, "", address);
    scrollTo(0, 0);
  }
  place.value = read();
}
function param(name) {
  return place.value.query.get(name) ?? "";
}
function followLinks() {
  addEventListener("popstate", () => {
    place.value = read();
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link2 = event.target.closest?.("a[href]");
    if (!link2 || link2.hasAttribute("target") || link2.hasAttribute("download")) return;
    const address = new URL(link2.getAttribute("href"), location.href);
    if (address.origin !== location.origin || !address.pathname.startsWith(base) || link2.getAttribute("href").startsWith("#")) return;
    event.preventDefault();
    go(address.pathname + address.search);
  });
}
function pageOf(noun, id) {
  const path = PAGES[noun];
  return path ? to(id && !path[1] ? [path[0], id] : path.slice(0, 1), path[1] && id ? { [path[1]]: id } : {}) : null;
}
var PAGES = {
  execution: ["runs"],
  graph: ["graphs"],
  waitpoint: ["inbox", "id"],
  session: ["sessions"],
  worker: ["workers", "id"],
  workers: ["workers", ""],
  lane: ["workers", "lane"],
  queue: ["queues"],
  message: ["queues"],
  schedule: ["schedules", "id"],
  quota: ["limits", "id"],
  budget: ["limits", "id"],
  deployment: ["deployments"],
  key: ["keys", "id"],
  request: ["audit", "request"],
  tenant: ["tenants"],
  task: ["runs", "kind"]
};

// console/lib/choices.ts
function kept(name, initial) {
  const key = `holdfast.console.${name}`;
  let value = initial;
  try {
    const text = localStorage.getItem(key);
    if (text !== null) value = JSON.parse(text);
  } catch {
  }
  const choice = y3(value);
  let isFirst = true;
  x2(() => {
    const text = JSON.stringify(choice.value);
    if (isFirst) isFirst = false;
    else
      try {
        localStorage.setItem(key, text);
      } catch {
      }
  });
  return choice;
}
var theme = kept("theme", "auto");
var zone = kept("zone", "local");
var singleKeys = kept("keys", true);
var isNarrow = kept("sidebar", false);
x2(() => {
  if (theme.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
});

// console/lib/keys.ts
var layers = [];
var prefix = "";
var prefixTimer;
function bindings() {
  return layers.flatMap((layer) => layer.current);
}
function useKeys(bound) {
  const layer = T2(bound);
  layer.current = bound;
  F2(() => {
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
    };
  }, []);
}
function useCursor(rows, keyOf2) {
  const chosen2 = T2(null);
  const [, draw] = d2(0);
  const found = chosen2.current ? rows.findIndex((row) => keyOf2(row) === chosen2.current.key) : -1;
  const at = chosen2.current && found < 0 ? Math.min(chosen2.current.at, rows.length - 1) : found;
  const move = (by) => {
    const next2 = Math.max(0, Math.min(rows.length - 1, at + by));
    if (rows[next2]) chosen2.current = { key: keyOf2(rows[next2]), at: next2 };
    draw((times) => times + 1);
    return next2;
  };
  return [at, move];
}
function handleKeys() {
  document.addEventListener("keydown", (event) => {
    const chord = `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${event.key}`;
    const isSingle = !chord.startsWith("Ctrl+");
    if (event.key === "Enter" && event.target.closest?.("a, button, summary")) return;
    if (event.altKey || isSingle && (isTyping(event.target) || !singleKeys.value || document.querySelector("dialog[open]"))) return;
    const keys = prefix ? `${prefix} ${chord}` : chord;
    prefix = "";
    const binding = [...bindings()].reverse().find((one) => one.keys === keys);
    if (binding) {
      event.preventDefault();
      binding.run();
    } else if (isSingle && bindings().some((one) => one.keys.startsWith(`${chord} `))) {
      prefix = chord;
      clearTimeout(prefixTimer);
      prefixTimer = setTimeout(() => prefix = "", 1200);
    }
  });
}
function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input:not([type=checkbox], [type=radio]), textarea, select"));
}

// console/lib/call.ts
var Problem = class extends Error {
  constructor(status, code, detail, request2, more = {}) {
    super(detail);
    this.status = status;
    this.code = code;
    this.request = request2;
    this.more = more;
  }
  status;
  code;
  request;
  more;
  get isForbidden() {
    return this.status === 403;
  }
  get isLost() {
    return this.status === 0 || this.status === 503;
  }
};
var unknown = { caller: () => void 0 };
function addressOf(target, options2 = {}) {
  const path = target.slice(target.indexOf(" ") + 1).replace(/\{(\w+)\}/g, (_4, name) => encodeURIComponent(options2.path?.[name] ?? ""));
  const query2 = new URLSearchParams();
  for (const [name, value] of Object.entries(options2.query ?? {})) if (value !== void 0 && value !== null && value !== "") query2.set(name, String(value));
  const text = query2.toString();
  return `${root}${path.slice(1)}${text ? `?${text}` : ""}`;
}
async function send(method, address, body, signal, headers = {}) {
  const init = {
    method,
    credentials: "same-origin",
    cache: "no-store",
    headers: { ...body === void 0 ? {} : { "Content-Type": "application/json" }, ...method === "GET" ? {} : { "X-Holdfast-Console": "1" }, ...headers }
  };
  if (body !== void 0) init.body = typeof body === "string" ? body : JSON.stringify(body);
  if (signal) init.signal = signal;
  let response;
  try {
    response = await fetch(address, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, "unreachable", "The server cannot be reached.", "");
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}
async function problemOf(response) {
  const request2 = response.headers.get("X-Request-Id") ?? "";
  if (response.status === 401) unknown.caller();
  try {
    const { code, detail, ...more } = await response.json();
    return new Problem(response.status, String(code), String(detail), request2, more);
  } catch {
    return new Problem(response.status, String(response.status), response.statusText || "The server gave no reason.", request2);
  }
}
async function call(target, ...given) {
  const options2 = given[0] ?? {};
  const method = target.slice(0, target.indexOf(" "));
  const address = addressOf(target, options2);
  const asked2 = early.get(address);
  early.delete(address);
  return await (asked2 ?? reply(method, address, options2.body, options2.signal));
}
async function reply(method, address, body, signal) {
  const response = await send(method, address, body, signal);
  return response.status === 204 ? void 0 : response.json();
}
var early = /* @__PURE__ */ new Map();
function readEarly() {
  for (const { href } of document.querySelectorAll("link[as=fetch]")) {
    const address = href.slice(location.origin.length);
    early.set(address, reply("GET", address));
    early.get(address).catch(() => early.delete(address));
  }
  return Promise.allSettled(early.values());
}
async function payload(address, signal) {
  const response = await send("GET", address, void 0, signal);
  const data = await response.arrayBuffer();
  const type = response.headers.get("Content-Type") ?? "";
  return { text: new TextDecoder().decode(data), type, bytes: data.byteLength };
}
async function all(read4, most = 2e3) {
  const items = [];
  let cursor;
  do {
    const found = await read4(cursor);
    items.push(...found.items);
    cursor = found.next_cursor ?? void 0;
  } while (cursor && items.length < most);
  return items;
}

// console/lib/session.ts
var me = y3(null);
var mustLogIn = y3(false);
var meProblem = y3(null);
var tenant = O(() => me.value?.tenant ?? (place.value.query.get("tenant") || null));
var scope = O(() => me.value?.tenant ? void 0 : tenant.value ?? void 0);
function oneTenant() {
  const tenants = me.value?.tenants ?? [];
  if (tenant.value) return tenant.value;
  return tenants.length === 1 ? tenants[0] : tenants.length ? null : "default";
}
unknown.caller = () => {
  mustLogIn.value = true;
};
async function identify() {
  try {
    me.value = await call("GET /v1/me");
    meProblem.value = null;
    mustLogIn.value = false;
  } catch (error) {
    if (error instanceof Problem && error.status !== 401) meProblem.value = error;
  }
}
async function logIn(key) {
  const response = await send("POST", `${root}console/login`, { key });
  me.value = await response.json();
  meProblem.value = null;
  mustLogIn.value = false;
}
async function logOut() {
  await send("POST", `${root}console/logout`, {});
  me.value = null;
  mustLogIn.value = true;
}
function chooseTenant(name) {
  go(here({ tenant: name, cursor: null }));
}
function may(role) {
  const roles = me.value?.roles ?? [];
  return roles.includes(role) || roles.includes("admin");
}
function seesPayloads() {
  return me.value?.payloads !== "none";
}

// console/lib/live.ts
var PAUSES_MS = [250, 1e3, 2e3, 5e3];
var SILENCE_MS = 4e4;
var HIDDEN_MS = 5e3;
var FLUSH_MS = 250;
var CHANGE_MS = 10;
var POLL_MS = 5e3;
var TYPES = "execution,session,waitpoint,deployment,queue,worker";
var link = y3("connecting");
var lostAt = y3(null);
var paused = y3(false);
var held = y3(0);
var listeners = /* @__PURE__ */ new Set();
var waiting = [];
var flushing;
var quietUntil = 0;
var last;
function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
function reloadAll() {
  for (const listener of [...listeners]) listener([{ type: "all", data: {} }]);
}
function pause(on) {
  paused.value = on;
  if (!on && held.value) {
    held.value = 0;
    reloadAll();
  }
}
function hear(changes) {
  for (const change of changes) if (change.id) last = change.id;
  if (paused.value) {
    held.value += changes.length;
    return;
  }
  waiting.push(...changes);
  flushing ??= setTimeout(flush, Math.max(0, quietUntil - Date.now()));
}
function flush() {
  flushing = void 0;
  const changes = waiting;
  quietUntil = Date.now() + Math.min(FLUSH_MS, CHANGE_MS * changes.length);
  waiting = [];
  for (const listener of [...listeners]) listener(changes);
}
function linked(state) {
  if (link.value !== state && state !== "lost") hear([{ type: "all", data: {} }]);
  link.value = state;
  lostAt.value = state === "lost" ? lostAt.value ?? Date.now() : null;
}
function follow() {
  let stop;
  let followed;
  x2(() => {
    const of2 = me.value ? oneTenant() : void 0;
    if (of2 === followed) return;
    followed = of2;
    stop?.abort();
    if (of2 === void 0) return;
    stop = new AbortController();
    last = void 0;
    void (of2 === null ? poll(stop.signal) : run(of2, stop.signal));
  });
}
async function poll(stopped) {
  linked("polling");
  while (!stopped.aborted) {
    await rest(POLL_MS, stopped);
    if (isHidden() || stopped.aborted) continue;
    try {
      await send("GET", addressOf("GET /readyz"), void 0, stopped);
      linked("polling");
      if (!paused.value) reloadAll();
    } catch {
      if (!stopped.aborted) linked("lost");
    }
  }
}
async function run(of2, stopped) {
  const name = `holdfast.console:${scope.value ?? ""}:${of2}`;
  const others = new BroadcastChannel(name);
  others.onmessage = ({ data }) => {
    if ("changes" in data) hear(data.changes);
    else linked(data.link);
  };
  let failures = 0;
  while (!stopped.aborted) {
    await visible(stopped);
    const hidden = untilHidden();
    const signal = AbortSignal.any([stopped, hidden.signal]);
    try {
      await withLock(name, signal, async () => {
        await read2(of2, signal, others, () => failures = 0);
      });
    } catch (error) {
      if (error instanceof Problem && error.status === 401) break;
    }
    hidden.done();
    if (!signal.aborted) {
      linked("lost");
      others.postMessage({ link: "lost" });
      await rest(PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)], stopped);
    }
  }
  others.close();
}
async function withLock(name, signal, work) {
  if (!navigator.locks) return work();
  const isFree = await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
    if (lock) await work();
    return lock !== null;
  });
  if (isFree) return;
  linked("live");
  await navigator.locks.request(name, { signal }, work);
}
async function read2(of2, signal, others, opened) {
  const silence = new AbortController();
  let watch = setTimeout(() => silence.abort(), SILENCE_MS);
  const both = AbortSignal.any([signal, silence.signal]);
  const tell2 = (word) => others.postMessage(word);
  addEventListener("offline", () => silence.abort(), { signal: both });
  const query2 = { tenant: me.value?.tenant ? void 0 : of2, after: last, types: TYPES };
  try {
    const response = await send("GET", addressOf("GET /v1/events", { query: query2 }), void 0, both, { Accept: "text/event-stream" });
    opened();
    linked("live");
    tell2({ link: "live" });
    for await (const change of events(response)) {
      clearTimeout(watch);
      watch = setTimeout(() => silence.abort(), SILENCE_MS);
      if (!change) continue;
      hear([change]);
      tell2({ changes: [change] });
    }
  } finally {
    clearTimeout(watch);
    silence.abort();
  }
}
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    yield null;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const change = changeOf(text.slice(0, end));
      text = text.slice(end + 2);
      if (change) yield change;
    }
  }
}
function changeOf(block) {
  const fields = new Map(block.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));
  const type = fields.get("event");
  if (!type || type === "open") return null;
  const data = JSON.parse(fields.get("data") || "{}");
  const id = fields.get("id");
  return { type: type === "gap" ? "all" : type, data, ...id ? { id } : {} };
}
function isHidden() {
  return document.visibilityState === "hidden";
}
function visible(stopped) {
  return new Promise((resolve) => {
    if (!isHidden() || stopped.aborted) return resolve();
    const look = () => {
      if (!isHidden() || stopped.aborted) {
        document.removeEventListener("visibilitychange", look);
        resolve();
      }
    };
    document.addEventListener("visibilitychange", look);
    stopped.addEventListener("abort", look);
  });
}
function untilHidden() {
  const control = new AbortController();
  let timer;
  const look = () => {
    clearTimeout(timer);
    if (isHidden()) timer = setTimeout(() => control.abort(), HIDDEN_MS);
  };
  document.addEventListener("visibilitychange", look);
  look();
  const done = () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
  return { signal: control.signal, done };
}
function rest(ms, stopped) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    stopped.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

// console/lib/load.ts
var LEAST_MS = 1e3;
var WITHOUT_FEED_MS = 5e3;
function useLoad(read4, inputs, options2 = {}) {
  const [state, setState] = d2(EMPTY);
  const reading = T2(null);
  const latest = T2({ read: read4, options: options2 });
  latest.current = { read: read4, options: options2 };
  const reload = T2(() => void 0);
  F2(() => {
    let timer;
    let started = 0;
    setState(EMPTY);
    const start = async () => {
      started = Date.now();
      reading.current?.abort();
      const control = new AbortController();
      reading.current = control;
      try {
        const data = await latest.current.read(control.signal);
        if (!control.signal.aborted) setState({ data, problem: void 0, isLoading: false, at: Date.now() });
      } catch (error) {
        if (control.signal.aborted) return;
        const problem = error instanceof Problem ? error : new Problem(0, "page_failed", String(error), "");
        setState((before) => ({ ...before, problem, isLoading: false }));
      }
      reading.current = reading.current === control ? null : reading.current;
    };
    const later = () => {
      timer ??= setTimeout(
        () => {
          timer = void 0;
          void start();
        },
        Math.max(0, started + LEAST_MS - Date.now())
      );
    };
    reload.current = () => void start();
    void start();
    const stop = listen((changes) => {
      const { when: when2 } = latest.current.options;
      if (changes.some((change) => change.type === "all" || when2?.(change))) later();
    });
    const { every, when } = latest.current.options;
    const pace = every ?? (when ? WITHOUT_FEED_MS : 0);
    const poll2 = pace ? setInterval(() => {
      const isFed = !every && link.value === "live";
      if (document.visibilityState === "visible" && !paused.value && !isFed && !reading.current) void start();
    }, pace) : void 0;
    return () => {
      stop();
      clearTimeout(timer);
      clearInterval(poll2);
      reading.current?.abort();
    };
  }, inputs);
  return { ...state, reload: () => reload.current() };
}
var EMPTY = { data: void 0, problem: void 0, isLoading: true, at: 0 };
function of(...types) {
  return (change) => types.includes(change.type);
}

// console/lib/soft.ts
async function soft(reading) {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Problem && [400, 403, 404, 405, 422].includes(error.status)) return null;
    throw error;
  }
}

// console/lib/words.ts
function count(value) {
  return String(value).replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, ",");
}
function brief(value) {
  if (value < 1e4) return count(value);
  if (value < 1e6) return `${trim(value / 1e3)}k`;
  return `${trim(value / 1e6)}M`;
}
function trim(value) {
  return value.toFixed(value < 100 ? 1 : 0).replace(/\.0$/, "");
}
function bytes(value) {
  if (value < 1024) return `${value} B`;
  if (value < 1048576) return `${trim(value / 1024)} KiB`;
  return `${trim(value / 1048576)} MiB`;
}
function plural(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}
function middle(text, most = 22) {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) / 3);
  return `${text.slice(0, most - 1 - tail)}…${text.slice(-tail)}`;
}
function capital(text) {
  return text ? text[0].toUpperCase() + text.slice(1) : text;
}
function phrase(name) {
  return capital(name.replace(/[_-]+/g, " "));
}
function percent(bps) {
  return `${(bps / 100).toFixed(bps % 100 ? bps % 10 ? 2 : 1 : 0)} %`;
}

// console/lib/toasts.ts
var SHOWN_MS = 5e3;
var toasts = y3([]);
var next = 1;
function tell(text, tone = "plain") {
  const toast = { id: next++, text, tone };
  toasts.value = [...toasts.value.slice(-3), toast];
  setTimeout(() => dismiss(toast.id), SHOWN_MS);
}
function dismiss(id) {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

// console/lib/action.ts
var asked = y3(null);
function ask(action) {
  asked.value = action;
}
var REASON = { name: "reason", label: "Reason", kind: "text", hint: "Kept in the history and in the audit log." };
function initialOf(action) {
  return Object.fromEntries((action.fields ?? []).map((field) => [field.name, field.initial ?? ""]));
}
function request(action, values) {
  const method = action.target.slice(0, action.target.indexOf(" "));
  const body = action.body?.(values) ?? (method === "GET" || method === "DELETE" ? void 0 : {});
  const query2 = action.path?.tenant === void 0 ? { tenant: TENANTLESS.test(action.target) ? void 0 : scope.value, ...action.query } : action.query;
  const address = addressOf(action.target, { ...action.path ? { path: action.path } : {}, ...query2 ? { query: query2 } : {} });
  return { method, address, text: typeof body === "object" ? JSON.stringify(body) : body };
}
var TENANTLESS = /\/v1\/(lanes|workers|keys|settings|admin|envs\/\{env\}$|bulk|views|writer-leases:|executions$|secrets)/;
function curlCommand(action, values) {
  const { method, address, text } = request(action, values);
  return written(method, address, text);
}
function written(method, address, text) {
  const lines = [`curl -X ${method} ${quoted(`${location.origin}${address}`)}`];
  lines.push('-H "Authorization: Bearer $HOLDFAST_KEY"');
  if (text !== void 0) lines.push("-H 'Content-Type: application/json'", `-d ${quoted(text)}`);
  return lines.join(" \\\n  ");
}
function asCommand(action, values) {
  return `holdfast ${action.cli(values)}`;
}
function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
function option(name, value) {
  return value ? ` --${name} ${quoted(value)}` : "";
}
async function perform(action, values) {
  const { method, address, text } = request(action, values);
  try {
    const response = await send(method, address, text);
    const reply2 = response.status === 204 ? void 0 : await response.json();
    tell(action.done?.(reply2, values) ?? `${action.title}: done.`, "good");
    action.after?.(reply2);
    reloadAll();
    return null;
  } catch (error) {
    return error instanceof Problem ? error : new Problem(0, "page_failed", String(error), "");
  }
}

// console/lib/time.ts
var now = y3(Date.now());
setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, 1e3);
var STEPS = [
  ["d", 864e5],
  ["h", 36e5],
  ["m", 6e4],
  ["s", 1e3]
];
function span(ms) {
  const value = Math.max(0, ms);
  if (value < 1e3) return `${Math.round(value)} ms`;
  if (value < 1e4) return `${(value / 1e3).toFixed(1)} s`;
  if (value < 6e4) return `${Math.round(value / 1e3)} s`;
  const parts = [];
  let rest2 = value;
  for (const [unit, size] of STEPS) {
    const count2 = Math.floor(rest2 / size);
    rest2 -= count2 * size;
    if (count2 || parts.length) parts.push(`${count2}${unit}`);
    if (parts.length === 2) break;
  }
  return parts.filter((part, at) => at === 0 || !/^0/.test(part)).join(" ");
}
function ago(at, from2 = now.value) {
  const ms = from2 - (typeof at === "number" ? at : Date.parse(at));
  if (Math.abs(ms) < 1500) return "now";
  return ms > 0 ? `${coarse(ms)} ago` : `in ${coarse(-ms)}`;
}
function coarse(ms) {
  for (const [unit, size] of STEPS) if (ms >= size) return `${Math.floor(ms / size)}${unit}`;
  return "1s";
}
function exact(at) {
  const date = new Date(at);
  const isUtc = zone.value === "utc";
  const shown = isUtc ? date : new Date(date.getTime() - date.getTimezoneOffset() * 6e4);
  const name = isUtc ? "UTC" : zoneName(date);
  return `${shown.toISOString().slice(0, 23).replace("T", " ").replace(".000", "")} ${name}`;
}
function clock(at, withMs = false) {
  return exact(at).slice(11, 19) + (withMs ? (new Date(at).getMilliseconds() / 1e3).toFixed(3).slice(1) : "");
}
function short(at) {
  const options2 = { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  if (zone.value === "utc") options2.timeZone = "UTC";
  return new Intl.DateTimeFormat("en", options2).format(new Date(at));
}
function zoneName(date) {
  const ahead = -date.getTimezoneOffset();
  const minutes = Math.abs(ahead) % 60;
  return ahead ? `UTC${ahead > 0 ? "+" : "-"}${Math.floor(Math.abs(ahead) / 60)}${minutes ? `:${minutes}` : ""}` : "UTC";
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

// console/parts/icon.tsx
var PATHS = {
  overview: "M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-4H4zM14 8h6V4h-6z",
  runs: "M4 6h3M4 12h3M4 18h3M10.5 6H20M10.5 12H20M10.5 18H20",
  inbox: "M4 13l2.5-8h11L20 13v6H4zM4 13h5l1 2.5h4L15 13h5",
  graph: "M6.5 8.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM17.5 20.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM6.5 8.5v4a5.5 5.5 0 0 0 5.5 5.5h3M17.5 15.5v-6M17.5 9.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5z",
  queue: "M4 5h16v4H4zM4 11h16v4H4zM7 18.500h10",
  worker: "M7 7h10v10H7zM10 3v4M14 3v4M10 17v4M14 17v4M3 10h4M3 14h4M17 10h4M17 14h4",
  schedule: "M5 6h14v14H5zM5 10h14M9 3.500V7M15 3.500V7M12 13v2.500l2 1",
  limit: "M4.500 17a8.500 8.500 0 1 1 15 0M12 15l4-5.500M12 16.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3z",
  session: "M5 5h14v10.500h-7L8 19.500v-4H5zM8.500 9h7M8.500 12h4",
  deployment: "M12 3.500l8 4-8 4-8-4zM4 12l8 4 8-4M4 16.500l8 4 8-4",
  archive: "M4 5h16v4H4zM5.500 9v10.500h13V9M10 13h4",
  key: "M14.500 13.500a4.500 4.500 0 1 0-4.400-3.500L4 16v4h4v-2.500h2.500V15l1.600-1.600c.7.1 1.600.1 2.400.1zM16 8.200v.1",
  audit: "M6 3.500h9l4 4v13H6zM15 3.500v4h4M9 12h7M9 16h5",
  settings: "M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM12 3.500v2.500M12 18v2.500M3.500 12H6M18 12h2.500M6 6l1.800 1.800M16.200 16.200L18 18M18 6l-1.800 1.800M7.800 16.200L6 18",
  lease: "M6 11h12v9.500H6zM8.500 11V8a3.500 3.500 0 0 1 7 0v3M12 14.500v2.500",
  cause: "M12 3.800L2.800 19.700h18.400zM12 9.500v4.500M12 16.700v.1",
  search: "M10.500 17a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13zM15.500 15.500L20.500 20.500",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6L6 18",
  check: "M5 12.500l4.500 4.500L19 7.500",
  cross: "M7 7l10 10M17 7L7 17",
  clock: "M12 7.500V12l3 2M12 20.500a8.500 8.500 0 1 0 0-17 8.500 8.500 0 0 0 0 17z",
  timer: "M12 9v4.500M9 3.500h6M12 21a7.500 7.500 0 1 0 0-15 7.500 7.500 0 0 0 0 15zM18.500 6.500L20 8",
  dots: "M5.500 12h.1M12 12h.1M18.500 12h.1",
  play: "M8 5.500v13l10.500-6.500z",
  pause: "M8.500 5.500v13M15.500 5.500v13",
  hand: "M12 20.500a8.500 8.500 0 1 0 0-17 8.500 8.500 0 0 0 0 17zM10 9v6M14 9v6",
  slash: "M12 20.500a8.500 8.500 0 1 0 0-17 8.500 8.500 0 0 0 0 17zM6 6l12 12",
  skip: "M5 6.500l7 5.500-7 5.500zM12 6.500l7 5.500-7 5.500z",
  fork: "M12 3.500v6M12 9.500c0 5-6 4-6 9M12 9.500c0 5 6 4 6 9",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  retry: "M4.500 12a7.500 7.500 0 1 0 2.400-5.500M4 3.500v4.200h4.200",
  edit: "M5 19h3.500L19 8.500 15.500 5 5 15.500zM13.500 7l3.500 3.500",
  right: "M9.500 5.500L16 12l-6.500 6.500",
  down: "M5.500 9.500L12 16l6.500-6.500",
  up: "M12 19V6M6 11.500L12 5.500l6 6",
  out: "M10 5H5v14h14v-5M14 4h6v6M20 4l-9 9",
  sun: "M12 16.500a4.500 4.500 0 1 0 0-9 4.500 4.500 0 0 0 0 9zM12 2.500V5M12 19v2.500M2.500 12H5M19 12h2.500M5.300 5.300L7 7M17 17l1.700 1.700M18.700 5.300L17 7M7 17l-1.700 1.700",
  moon: "M19.500 14.500A8 8 0 0 1 9.500 4.500a8 8 0 1 0 10 10z",
  auto: "M12 20.500a8.500 8.500 0 1 0 0-17 8.500 8.500 0 0 0 0 17zM12 3.500v17M12 7l5 1.500M12 11h8M12 15h7.500",
  help: "M12 20.500a8.500 8.500 0 1 0 0-17 8.500 8.500 0 0 0 0 17zM9.500 9.500a2.500 2.500 0 1 1 3.500 2.300c-.7.3-1 .8-1 1.700M12 16.700v.1",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.500 20.500a7.500 7.500 0 0 1 15 0",
  bolt: "M13 3L5 13.500h5.500L10 21l8.500-11H13z",
  flag: "M6 21V4M6 4.500h11.500l-2.500 4 2.500 4H6",
  trash: "M5 7h14M9.500 7V4.500h5V7M7 7l1 13h8l1-13",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  columns: "M4 5h16v14H4zM9.500 5v14M14.500 5v14",
  download: "M12 4v11M7 10.500l5 5 5-5M5 20h14",
  info: "M12 20.500a8.500 8.500 0 1 0 0-17 8.500 8.500 0 0 0 0 17zM12 11v5.500M12 7.700v.1",
  star: "M12 4l2.500 5.200 5.500.7-4 3.900 1 5.700-5-2.800-5 2.800 1-5.700-4-3.900 5.500-.7z",
  dot: "M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z"
};
function Icon({ name, label }) {
  return a4("svg", { class: `icon icon-${name}`, viewBox: "0 0 24 24", role: label ? "img" : void 0, "aria-label": label, "aria-hidden": label ? void 0 : "true", focusable: "false", children: a4("path", { d: PATHS[name] }) });
}

// console/parts/basics.tsx
function Time({ at, as = "ago" }) {
  if (!at) return a4("span", { class: "faint", children: "–" });
  return a4("time", { datetime: at, title: exact(at), children: as === "ago" ? ago(at, now.value) : exact(at) });
}
function Span({ from: from2, until }) {
  if (!from2) return a4("span", { class: "faint", children: "–" });
  const end = until ? Date.parse(until) : now.value;
  return a4("span", { class: "num", children: span(end - Date.parse(from2)) });
}
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "hidden";
    const parent = document.querySelector("dialog[open]") ?? document.body;
    parent.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
function Copy({ text, label = "Copy" }) {
  const [isDone, setDone] = d2(false);
  const copy = async () => {
    await copyText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1200);
  };
  return a4("button", { type: "button", class: "icon-button quiet", onClick: copy, "aria-label": `${label}: ${middle(text, 40)}`, title: label, children: a4(Icon, { name: isDone ? "check" : "copy" }) });
}
function Commands({ texts, children }) {
  return a4("details", { class: "commands", children: [
    a4("summary", { children: "The same from a terminal" }),
    texts.map((text) => a4("div", { class: "command", children: [
      a4("pre", { children: text }),
      a4(Copy, { text, label: "Copy command" })
    ] }, text.slice(0, 8))),
    children
  ] });
}
function Id({ id, href, most = 22, copy = false }) {
  const text = middle(id, most);
  return a4("span", { class: "id", children: [
    href ? a4("a", { href, title: id, children: text }) : a4("span", { title: id, children: text }),
    copy && a4(Copy, { text: id, label: "Copy id" })
  ] });
}
function Button({ action, tone = "", hideLabel = false }) {
  const isAllowed = !action.role || may(action.role);
  return a4(
    "button",
    {
      type: "button",
      class: `button ${tone} ${action.isDangerous ? "danger" : ""}`,
      disabled: !isAllowed,
      title: isAllowed ? action.title : `Needs the role ${action.role}.`,
      "aria-label": hideLabel ? action.title : void 0,
      onClick: () => ask(action),
      children: [
        action.icon && a4(Icon, { name: action.icon }),
        !hideLabel && action.verb
      ]
    }
  );
}
function Meter({ value, most, tone = "accent", label }) {
  const share = most > 0 ? Math.min(1, value / most) : 0;
  return a4("span", { class: "meter", role: "img", "aria-label": label, title: label, children: a4("span", { class: `meter-fill tone-${tone}`, style: { width: `${share * 100}%` } }) });
}
function Tabs({ tabs, name = "tab" }) {
  const chosen2 = param(name) || tabs[0].id;
  return a4("nav", { class: "tabs", "aria-label": "Parts of this page", children: tabs.map((tab, at) => a4("a", { href: here({ [name]: at ? tab.id : null }), "aria-current": tab.id === chosen2 ? "page" : void 0, children: [
    tab.label,
    tab.count !== void 0 && a4("span", { class: "count", children: tab.count })
  ] }, tab.id)) });
}
function Facts({ rows }) {
  return a4("dl", { class: "facts", children: rows.map(
    (row) => row && a4("div", { children: [
      a4("dt", { children: row[0] }),
      a4("dd", { children: row[1] })
    ] }, row[0])
  ) });
}
function Card({ title, extra, children, class: name = "" }) {
  return a4("section", { class: `card ${name}`, children: [
    title && a4("header", { children: [
      a4("h2", { children: title }),
      extra && a4("div", { class: "extra", children: extra })
    ] }),
    children
  ] });
}
function Tags({ tags }) {
  const entries = Object.entries(tags);
  if (!entries.length) return null;
  return a4($, { children: entries.map(([name, value]) => a4("span", { class: "tag tone-plain", children: [
    name,
    a4("b", { children: value })
  ] }, name)) });
}
function Marked({ text }) {
  return a4($, { children: text.split("`").map((part, at) => at % 2 ? a4("code", { children: part }, at) : part) });
}

// console/parts/head.tsx
function Head({ title, sub, up, children }) {
  return a4("header", { class: "page-head", children: [
    up && a4("a", { class: "crumb", href: to([up.page]), children: [
      up.label,
      " ",
      a4(Icon, { name: "right" })
    ] }),
    a4("h1", { children: title }),
    children && a4("div", { class: "actions", children }),
    sub && a4("div", { class: "sub", children: sub })
  ] });
}

// console/parts/show.tsx
function Show({ of: of2, empty, children, rows = 6 }) {
  if (of2.data === void 0) {
    if (of2.problem) return a4(Failed, { problem: of2.problem, retry: of2.reload });
    return a4(Loading, { rows });
  }
  return a4($, { children: [
    of2.problem && a4(Stale, { problem: of2.problem, at: of2.at, retry: of2.reload }),
    empty?.(of2.data) ?? children(of2.data)
  ] });
}
function Loading({ rows = 6 }) {
  return a4("div", { class: "loading", "aria-busy": "true", role: "status", children: [
    a4("span", { class: "hidden", children: "Loading" }),
    Array.from({ length: rows }, (_4, at) => a4("span", { class: "bone" }, at))
  ] });
}
function Notice({ icon, title, children, tone = "plain" }) {
  return a4("div", { class: `notice tone-${tone}`, children: [
    a4(Icon, { name: icon }),
    a4("h2", { children: title }),
    children
  ] });
}
function Empty({ icon, title, children, command }) {
  return a4(Notice, { icon, title, children: [
    children && a4("p", { children }),
    command && a4(Command, { text: command })
  ] });
}
function Command({ text }) {
  return a4("div", { class: "command", children: [
    a4("code", { children: text }),
    a4(Copy, { text, label: "Copy command" })
  ] });
}
function Failed({ problem, retry }) {
  if (problem.isForbidden)
    return a4(Notice, { icon: "lease", title: "You may not see this", tone: "warn", children: [
      a4("p", { children: problem.message }),
      a4(ProblemFacts, { problem })
    ] });
  if (problem.status === 404)
    return a4(Notice, { icon: "search", title: "There is no such thing", children: [
      a4("p", { children: problem.message }),
      a4(ProblemFacts, { problem })
    ] });
  return a4(Notice, { icon: "cause", title: problem.isLost ? "The server cannot be reached" : "This could not be read", tone: "danger", children: [
    a4("p", { children: problem.message }),
    a4(ProblemFacts, { problem }),
    retry && a4("button", { type: "button", class: "button", onClick: retry, children: [
      a4(Icon, { name: "retry" }),
      " Try again"
    ] })
  ] });
}
function Refused({ problem }) {
  if (!problem) return null;
  return a4("div", { class: "problem", role: "alert", children: [
    problem.message,
    a4(ProblemFacts, { problem })
  ] });
}
function ProblemFacts({ problem }) {
  return a4("p", { class: "faint small", children: [
    a4("code", { children: problem.code }),
    problem.status > 0 && ` · HTTP ${problem.status}`,
    problem.request && a4($, { children: [
      " · request ",
      a4("code", { children: problem.request }),
      a4(Copy, { text: problem.request, label: "Copy request id" })
    ] })
  ] });
}
function Stale({ problem, at, retry }) {
  return a4("div", { class: "stale", role: "status", children: [
    a4(Icon, { name: "cause" }),
    a4("span", { children: [
      "Shown as of ",
      ago(at),
      ": ",
      problem.message
    ] }),
    a4("button", { type: "button", class: "link", onClick: retry, children: "Try again" })
  ] });
}

// console/parts/state.tsx
var STATES = {
  waiting: ["plain", "clock"],
  delayed: ["plain", "timer"],
  rate_limited: ["warn", "limit"],
  waiting_children: ["violet", "fork"],
  active: ["accent", "play"],
  suspended: ["violet", "hand"],
  completed: ["good", "check"],
  failed: ["danger", "cross"],
  cancelled: ["muted", "slash"],
  expired: ["danger", "timer"],
  skipped: ["muted", "skip"],
  // Of graphs, workers, lanes, queues, sessions, revisions and rollouts.
  running: ["accent", "play"],
  open: ["accent", "dot"],
  closed: ["muted", "check"],
  draining: ["warn", "timer"],
  paused: ["warn", "pause"],
  ready: ["good", "check"],
  staged: ["plain", "dots"],
  warming: ["accent", "sun"],
  inactive: ["muted", "slash"],
  archived: ["muted", "archive"],
  idle: ["plain", "dot"],
  parked: ["violet", "hand"],
  person: ["warn", "person"],
  ended: ["muted", "check"],
  ok: ["good", "check"],
  warning: ["warn", "cause"],
  error: ["danger", "cross"],
  live: ["good", "dot"],
  promoted: ["good", "check"],
  aborted: ["danger", "cross"],
  superseded: ["muted", "skip"],
  lost: ["danger", "cross"]
};
function toneOf(state) {
  return STATES[state]?.[0] ?? "plain";
}
function State({ name, word }) {
  const [tone, icon] = STATES[name] ?? ["plain", "dot"];
  return a4("span", { class: `chip tone-${tone}`, "data-state": name, children: [
    a4(Icon, { name: icon }),
    word ?? phrase(name)
  ] });
}
function Tag({ children, tone = "plain" }) {
  return a4("span", { class: `tag tone-${tone}`, children });
}
var RUN_STATES = [
  "active",
  "waiting",
  "delayed",
  "rate_limited",
  "waiting_children",
  "suspended",
  "failed",
  "expired",
  "completed",
  "cancelled",
  "skipped"
];
var ENDED = /* @__PURE__ */ new Set(["completed", "failed", "cancelled", "expired", "skipped"]);

// console/parts/table.tsx
var SHOWN = 100;
function Table({ rows, columns, keyOf: keyOf2, href, label, chosen: chosen2 }) {
  const [isWhole, setWhole] = d2(false);
  const shown = isWhole ? rows : rows.slice(0, SHOWN);
  const [at, move] = useCursor(shown, keyOf2);
  const body = T2(null);
  useKeys(
    href ? [
      { keys: "j", about: "Next row", run: () => move(1) },
      { keys: "k", about: "Previous row", run: () => move(-1) },
      { keys: "Enter", about: "Open the row", run: () => shown[at] && go(href(shown[at])) }
    ] : []
  );
  A2(() => {
    body.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return a4("div", { class: "table-box", children: [
    a4("table", { class: "table", "aria-label": label, children: [
      a4(Head2, { columns }),
      a4("tbody", { ref: body, children: shown.map((row, index) => a4("tr", { class: index === at || keyOf2(row) === chosen2 ? "chosen" : "", children: a4(Cells, { row, columns }) }, keyOf2(row))) })
    ] }),
    shown.length < rows.length && a4("button", { type: "button", class: "button", onClick: () => setWhole(true), children: `Show all ${count(rows.length)}` })
  ] });
}
function Head2({ columns }) {
  return a4("thead", { children: a4("tr", { children: columns.map((column) => a4("th", { scope: "col", class: `col-${column.kind ?? "text"} drop-${column.drop ?? "never"}`, style: column.width ? { width: column.width } : void 0, children: column.kind === "actions" ? a4("span", { class: "hidden", children: column.label }) : column.label }, column.id)) }) });
}
function Cells({ row, columns }) {
  return a4($, { children: columns.map((column) => a4("td", { class: `col-${column.kind ?? "text"} drop-${column.drop ?? "never"}`, children: column.cell(row) }, column.id)) });
}

// console/pages/archive.tsx
function Archive() {
  const found = useLoad(
    async (signal) => {
      const about = await call("GET /v1/archive", { signal });
      const runs = about.url ? await soft(call("GET /v1/archive/executions", { query: { tenant: scope.value, limit: 200 }, signal })) : null;
      return { about, runs: runs?.items ?? [] };
    },
    [scope.value],
    { every: 15e3 }
  );
  return a4($, { children: [
    a4(Head, { title: "Archive", sub: "Ended runs with their history, kept in object storage after the store has forgotten them." }),
    a4(
      Show,
      {
        of: found,
        empty: ({ about }) => about.url ? null : a4(Empty, { icon: "archive", title: "There is no archive", command: "holdfast server --archive file:///var/lib/holdfast/archive", children: "Without one, ended runs are forgotten when their retention is over." }),
        children: ({ about, runs }) => a4("div", { class: "run-grid", children: [
          a4(Card, { title: "Runs", children: runs.length ? a4(
            Table,
            {
              label: "Archived runs",
              rows: runs,
              keyOf: (row) => `${row.tenant} ${row.id}`,
              columns: [
                { id: "state", label: "State", cell: (row) => a4(State, { name: row.state }) },
                { id: "kind", label: "Task", kind: "grow", cell: (row) => row.kind },
                { id: "id", label: "Id", kind: "id", cell: (row) => a4(Id, { id: row.id, copy: true }) },
                { id: "took", label: "Time", kind: "num", drop: "narrow", cell: (row) => a4(Span, { from: row.started_at ?? row.created_at, until: row.completed_at }) },
                { id: "ended", label: "Ended", kind: "num", drop: "narrow", cell: (row) => a4(Time, { at: row.completed_at }) }
              ]
            }
          ) : a4("p", { class: "pad faint", children: "No run has been archived yet." }) }),
          a4(Card, { title: "Facts", children: a4("div", { class: "pad", children: a4(
            Facts,
            {
              rows: [
                ["Address", a4("code", { children: about.url })],
                ["Runs", count(about.executions)],
                ["Size", bytes(about.bytes)],
                ["Segments", count(about.segments)],
                ["Waiting", count(about.waiting)],
                about.first_day !== null && ["Days", `${about.first_day} to ${about.last_day}`],
                ["Last commit", a4(Time, { at: about.committed_at })]
              ]
            }
          ) }) })
        ] })
      }
    )
  ] });
}

// console/parts/search.tsx
function Search({ fields, verb = "Filter" }) {
  const search = (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    go(here(Object.fromEntries(Object.keys(fields).map((name) => [name, String(form.get(name) ?? "").trim()]))));
  };
  return a4("form", { class: "filters", onSubmit: search, role: "search", children: [
    a4(Icon, { name: "search" }),
    Object.entries(fields).map(([name, hint]) => a4("input", { name, placeholder: hint, "aria-label": hint, defaultValue: param(name), spellcheck: false }, name)),
    a4("button", { type: "submit", class: "button slim", children: verb })
  ] });
}

// console/pages/audit.tsx
function Audit() {
  const [key, request2] = [param("key"), param("request")];
  const [more, setMore] = d2([]);
  const [cursor, setCursor] = d2(void 0);
  A2(() => (setMore([]), setCursor(void 0)), [key]);
  const read4 = (at, signal) => call("GET /v1/audit", { query: { tenant: scope.value, limit: 200, ...key ? { key } : {}, ...at ? { cursor: at } : {} }, ...signal ? { signal } : {} });
  const found = useLoad((signal) => read4(void 0, signal), [scope.value, key], { every: 1e4 });
  const next2 = cursor === void 0 ? found.data?.next_cursor : cursor;
  const load = async () => {
    const page2 = await read4(next2 ?? void 0);
    setMore([...more, ...page2.items]);
    setCursor(page2.next_cursor);
  };
  return a4($, { children: [
    a4(Head, { title: "Audit log", sub: "Every call that changes something, also the refused ones." }),
    a4(Search, { fields: { key: "key id", request: "request id, route or thing" } }),
    a4(Show, { of: found, children: (data) => {
      const known = new Set(data.items.map((row) => row.id));
      const rows = [...data.items, ...more.filter((row) => !known.has(row.id))].filter((row) => fits(row, request2));
      if (!rows.length) return a4(Notice, { icon: "audit", title: key || request2 ? "No entry fits" : "Nothing was changed yet" });
      return a4(Card, { children: [
        a4(
          Table,
          {
            label: "Audit log",
            rows,
            keyOf: (row) => row.id,
            columns: [
              { id: "at", label: "When", cell: (row) => a4(Time, { at: row.at }) },
              { id: "key", label: "Who", drop: "narrow", cell: (row) => row.key ? a4(Id, { id: row.key, href: pageOf("key", row.key), most: 16 }) : a4("span", { class: "faint nowrap", children: "open access" }) },
              { id: "what", label: "What", kind: "grow", cell: (row) => a4("span", { class: "audit-what", children: [
                a4(Tag, { children: row.method }),
                " ",
                a4("code", { children: row.route })
              ] }) },
              { id: "target", label: "Thing", drop: "medium", cell: (row) => Object.entries(row.target).map(([name, value]) => `${name} ${value}`).join(", ") },
              { id: "status", label: "Answer", cell: (row) => a4(Tag, { tone: row.status < 400 ? "good" : "danger", children: row.code ?? row.status }) },
              { id: "address", label: "From", drop: "wide", cell: (row) => row.address },
              { id: "tenant", label: "Tenant", drop: "medium", cell: (row) => row.tenant ?? "" },
              { id: "request", label: "Request", drop: "medium", kind: "id", cell: (row) => a4("span", { class: "id", children: [
                row.request.slice(-8),
                a4(Copy, { text: row.request, label: "Copy request id" })
              ] }) }
            ]
          }
        ),
        next2 && a4("footer", { class: "list-foot", children: a4("button", { type: "button", class: "button slim", onClick: () => void load(), children: "Older entries" }) })
      ] });
    } })
  ] });
}
function fits(row, text) {
  return !text || [row.request, row.route, ...Object.values(row.target)].some((value) => value.includes(text));
}

// console/pages/causes.tsx
var SPANS = [
  ["", "24 hours", 864e5],
  ["1h", "1 hour", 36e5],
  ["7d", "7 days", 6048e5]
];
function Causes() {
  const chosen2 = SPANS.find(([id]) => id === param("span")) ?? SPANS[0];
  const found = useLoad(
    (signal) => call("GET /v1/executions:causes", { query: { tenant: scope.value, since: new Date(Date.now() - chosen2[2]).toISOString(), limit: 100 }, signal }),
    [scope.value, chosen2[0]],
    { when: of("execution") }
  );
  return a4($, { children: [
    a4(Head, { title: "Failures", sub: "What failed, grouped by task, error and place. Open a group to see its runs and to replay them together." }),
    a4("nav", { class: "strip", "aria-label": "Since", children: SPANS.map(([id, label]) => a4("a", { href: here({ span: id || null }), "aria-current": id === chosen2[0] ? "true" : void 0, children: label }, id)) }),
    a4(Show, { of: found, empty: (data) => data.items.length ? null : a4(Empty, { icon: "check", title: `Nothing failed in the last ${chosen2[1]}` }), children: (data) => a4(Card, { children: a4(
      Table,
      {
        label: "Failures",
        rows: data.items,
        keyOf: (row) => `${row.kind} ${row.error_type} ${row.code} ${row.place}`,
        href: (row) => group(row),
        columns: [
          { id: "count", label: "Runs", kind: "num", width: "4.500rem", cell: (row) => a4("b", { children: count(row.count) }) },
          { id: "kind", label: "Task", cell: (row) => a4("a", { class: "strong", href: group(row), children: row.kind }) },
          {
            id: "error",
            label: "Error",
            kind: "grow",
            cell: (row) => a4("span", { class: "cause", children: [
              a4("b", { class: "tone-danger toned", children: row.error_type }),
              " ",
              row.code !== row.error_type && row.code
            ] })
          },
          { id: "place", label: "Place", drop: "medium", cell: (row) => a4("code", { class: "nowrap", children: row.place }) },
          { id: "example", label: "Example", drop: "narrow", kind: "id", cell: (row) => a4(Id, { id: row.example, href: to(["runs", row.example]), most: 18 }) },
          { id: "first", label: "First", kind: "num", drop: "medium", cell: (row) => a4(Time, { at: row.first_at }) },
          { id: "last", label: "Last", kind: "num", drop: "narrow", cell: (row) => a4(Time, { at: row.last_at }) }
        ]
      }
    ) }) })
  ] });
}
function group(row) {
  return to(["runs"], { state: "failed,expired", kind: row.kind, error_type: row.error_type });
}

// console/lib/deployment_actions.ts
var MINUTES = 6e4;
function from(where) {
  return where.env === "local" ? "" : ` --env ${quoted(where.env)}`;
}
function rollbackAction(where, deployment) {
  const past = deployment.past.map((split) => `${split.generation}: ${split.entries.map((entry) => `${entry.revision} ${percent(entry.weight_bps)}`).join(", ")}`);
  const generation = (text) => (text ?? "").split(":")[0];
  return {
    title: `Roll ${where.d} back`,
    verb: "Roll back",
    icon: "retry",
    about: "New sessions go by an earlier split; sessions that have begun stay where they are.",
    target: "POST /v1/envs/{env}/deployments/{d}/rollback",
    path: { env: where.env, d: where.d },
    query: { tenant: where.tenant },
    fields: [{ name: "to", label: "To the split of generation", kind: "select", options: past, initial: past[0] ?? "" }],
    body: ({ to: to2 }) => ({ to_generation: Number(generation(to2)) }),
    cli: ({ to: to2 }) => `split rollback ${quoted(where.d)} --to ${generation(to2)}${from(where)}`,
    role: "operator",
    isDangerous: true,
    done: () => `${where.d} is rolled back.`
  };
}
function lifecycleActions(where, revision) {
  const path = { env: where.env, d: where.d, r: revision.id };
  const make = (verb, label, icon, about) => ({
    title: `${label} revision ${revision.id}`,
    verb: label,
    icon,
    about,
    target: `POST /v1/envs/{env}/deployments/{d}/revisions/{r}/${verb}`,
    path,
    query: { tenant: where.tenant },
    cli: () => `revisions ${verb} ${quoted(where.d)} ${quoted(revision.id)}${from(where)}`,
    role: "operator",
    done: () => `${revision.id}: ${verb}.`
  });
  if (revision.lifecycle === "staged") return [make("warm", "Warm", "sun", "Hosts load it and judge its gates.")];
  if (revision.lifecycle === "inactive") return [make("archive", "Archive", "archive", "It is kept for the record only.")];
  return [];
}
function drainAction(where, revision, weight, forecast = "nothing needs it") {
  if (revision.lifecycle !== "ready" || weight > 0) return [];
  return [
    {
      title: `Drain revision ${revision.id}`,
      verb: "Drain",
      icon: "timer",
      about: `It starts nothing more. ${revision.waiting} conversations wait on it and ${revision.running} run; without a deadline they end by themselves: ${forecast}.`,
      target: "POST /v1/envs/{env}/deployments/{d}/revisions/{r}/drain",
      path: { env: where.env, d: where.d, r: revision.id },
      query: { tenant: where.tenant },
      fields: [{ name: "minutes", label: "Deadline in minutes", kind: "number", hint: "Empty: none. What waits longer moves to another revision or ends." }],
      body: ({ minutes }) => minutes ? { deadline_ms: Number(minutes) * MINUTES } : {},
      cli: ({ minutes }) => `drain ${quoted(where.d)} ${quoted(revision.id)}${minutes ? ` --deadline ${minutes}m` : ""}${from(where)}`,
      role: "operator",
      isDangerous: true,
      done: () => `${revision.id} drains.`
    }
  ];
}
var UNITS = { s: 1e3, m: MINUTES, h: 60 * MINUTES, d: 1440 * MINUTES };
function startRollout(where, revision, deployment) {
  if (revision.lifecycle !== "ready" || !deployment.split.entries.length || deployment.split.entries.some((entry) => entry.revision === revision.id && entry.weight_bps === 1e4)) return [];
  const steps = (text) => (text ?? "").split(",").map((part) => {
    const [, share, amount, unit] = /^\s*([\d.]+)\s*%?(?::(\d+)([smhd]))?\s*$/.exec(part) ?? [];
    return { weight_bps: Math.round(Number(share) * 100), duration_ms: amount ? Number(amount) * UNITS[unit] : 0 };
  });
  const number = (text, factor = 1) => text?.trim() ? Math.round(Number(text) * factor) : null;
  return [
    {
      title: `Roll out ${revision.id}`,
      verb: "Roll out",
      icon: "up",
      about: "New sessions go to it step by step, as long as it is not worse than what serves now; sessions that have begun stay where they are.",
      target: "POST /v1/envs/{env}/deployments/{d}/rollouts",
      path: { env: where.env, d: where.d },
      query: { tenant: where.tenant },
      fields: [
        { name: "steps", label: "Steps", kind: "text", initial: "5%:10m,25%:10m,50%:10m,100%", hint: "Shares of new sessions, and how long each lasts; without a time, until it is promoted." },
        { name: "turns", label: "Judge after turns", kind: "number", initial: "20" },
        { name: "errors", label: "Error rate, points higher at most", kind: "number", initial: "2", hint: "Empty: no limit." },
        { name: "latency", label: "p95 in percent of the old one, at most", kind: "number", initial: "150", hint: "Empty: no limit." }
      ],
      body: (values) => ({
        revision: revision.id,
        steps: steps(values.steps),
        guards: { min_turns: Number(values.turns), error_rate_bps: number(values.errors, 100), p95_percent: number(values.latency) },
        expected_generation: deployment.split.generation
      }),
      cli: (values) => `rollout start ${quoted(where.d)} ${quoted(revision.id)}${option("steps", values.steps)}${option("min-turns", values.turns)}${option("error-rate", values.errors ? `${values.errors}%` : "off")}${option("latency", values.latency ? `${values.latency}%` : "off")}${from(where)}`,
      role: "operator",
      done: () => `${revision.id} is rolled out.`
    }
  ];
}
function rolloutActions(where, rollout) {
  const make = (verb, label, icon, about) => {
    const hasReason = verb === "pause" || verb === "abort";
    return {
      title: `${label} the rollout of ${rollout.revision}`,
      verb: label,
      icon,
      about,
      target: `POST /v1/envs/{env}/deployments/{d}/rollouts/{o}/${verb}`,
      path: { env: where.env, d: where.d, o: rollout.id },
      query: { tenant: where.tenant },
      ...hasReason ? { fields: [REASON], body: ({ reason }) => ({ reason }) } : {},
      cli: (values) => `rollout ${verb} ${quoted(where.d)}${hasReason ? option("reason", values.reason) : ""}${from(where)}`,
      role: "operator",
      isDangerous: verb === "abort",
      done: () => `Rollout: ${verb}.`
    };
  };
  return [
    rollout.state === "paused" ? make("continue", "Continue", "play", "It goes on with the step that it is in.") : make("pause", "Pause", "pause", "It stays in its step until it is continued."),
    make("promote", "Promote", "up", "All new sessions go to the new revision now."),
    make("abort", "Abort", "slash", "The split before the rollout returns.")
  ];
}

// console/lib/exact.ts
var TOKEN = /\s*(?:([{}[\],:])|("(?:[^"\\]|\\.)*")|([^\s{}[\],:"]+))/y;
function parse(text) {
  const reader = new Reader(text);
  try {
    const node = reader.value(0);
    return reader.isDone() ? node : null;
  } catch {
    return null;
  }
}
var Reader = class {
  constructor(text) {
    this.text = text;
  }
  text;
  at = 0;
  isDone() {
    return !this.text.slice(this.at).trim();
  }
  value(depth) {
    if (depth > 500) throw new Error("too deep");
    const [mark, quoted2, word] = this.next();
    if (quoted2 !== void 0) return { kind: "string", value: JSON.parse(quoted2) };
    if (word !== void 0) {
      JSON.parse(word);
      return { kind: "plain", text: word };
    }
    if (mark === "{") return { kind: "object", entries: this.many("}", () => this.entry(depth)) };
    if (mark === "[") return { kind: "array", items: this.many("]", () => this.value(depth + 1)) };
    throw new Error("unexpected");
  }
  entry(depth) {
    const [, quoted2] = this.next();
    if (quoted2 === void 0 || this.next()[0] !== ":") throw new Error("unexpected");
    return [JSON.parse(quoted2), this.value(depth + 1)];
  }
  many(end, one) {
    const found = [];
    const start = this.at;
    if (this.next()[0] === end) return found;
    this.at = start;
    for (; ; ) {
      found.push(one());
      const [mark] = this.next();
      if (mark === end) return found;
      if (mark !== ",") throw new Error("unexpected");
    }
  }
  next() {
    TOKEN.lastIndex = this.at;
    const match = TOKEN.exec(this.text);
    if (!match) throw new Error("ended");
    this.at = TOKEN.lastIndex;
    return [match[1], match[2], match[3]];
  }
};
function pretty(node, indent = "") {
  const inner = `${indent}  `;
  if (node.kind === "plain") return node.text;
  if (node.kind === "string") return JSON.stringify(node.value);
  if (node.kind === "array") {
    if (!node.items.length) return "[]";
    return `[
${node.items.map((item) => inner + pretty(item, inner)).join(",\n")}
${indent}]`;
  }
  if (!node.entries.length) return "{}";
  return `{
${node.entries.map(([key, value]) => `${inner}${JSON.stringify(key)}: ${pretty(value, inner)}`).join(",\n")}
${indent}}`;
}

// console/parts/json.tsx
var SHOWN_CHARS = 65536;
var OPEN_ITEMS = 20;
var SHOWN_ITEMS = 100;
function Value({ value }) {
  return a4(Payload, { text: JSON.stringify(value) ?? "null" });
}
function Payload({ text, name = "payload" }) {
  const [isWhole, setWhole] = d2(false);
  const isLong = text.length > SHOWN_CHARS;
  const node = !isLong || isWhole ? parse(text) : null;
  return a4("div", { class: "json", children: [
    a4("div", { class: "json-bar", children: [
      a4("span", { class: "faint small", children: bytes(new Blob([text]).size) }),
      isLong && a4("a", { class: "icon-button quiet", href: `data:application/octet-stream,${encodeURIComponent(text)}`, download: `${name}.json`, "aria-label": "Download", title: "Download", children: a4(Icon, { name: "download" }) }),
      a4(Copy, { text: node ? pretty(node) : text })
    ] }),
    node ? a4("div", { class: "json-tree", children: a4(Tree, { node, depth: 0 }) }) : a4("pre", { children: isLong && !isWhole ? text.slice(0, SHOWN_CHARS) : text }),
    isLong && !isWhole && a4("button", { type: "button", class: "button", onClick: () => setWhole(true), children: [
      "Show all ",
      bytes(text.length)
    ] })
  ] });
}
function Tree({ node, depth, last: last2 = true }) {
  const comma = last2 ? "" : ",";
  if (node.kind === "string")
    return a4("span", { class: "json-string", children: [
      JSON.stringify(node.value),
      comma
    ] });
  if (node.kind === "plain")
    return a4("span", { class: `json-${/^[tfn]/.test(node.text) ? "word" : "number"}`, children: [
      node.text,
      comma
    ] });
  const [open, close, size] = node.kind === "array" ? ["[", "]", node.items.length] : ["{", "}", node.entries.length];
  if (!size) return a4("span", { children: `${open}${close}${comma}` });
  return a4(Branch, { node, depth, open, close: `${close}${comma}`, size });
}
function Branch({ node, depth, open, close, size }) {
  const [isOpen, setOpen] = d2(depth < 2 && size <= OPEN_ITEMS * 5);
  const [shown, setShown] = d2(SHOWN_ITEMS);
  const entries = node.kind === "object" ? node.entries : node.kind === "array" ? node.items.map((item) => [null, item]) : [];
  return a4($, { children: [
    a4("button", { type: "button", class: "json-fold", "aria-expanded": isOpen, "aria-label": `${count(size)} ${node.kind === "array" ? "items" : "fields"}`, onClick: () => setOpen(!isOpen), children: [
      a4(Icon, { name: isOpen ? "down" : "right" }),
      open,
      !isOpen && a4("span", { class: "faint", children: [
        " ",
        count(size),
        " … "
      ] }),
      !isOpen && close
    ] }),
    isOpen && a4($, { children: [
      a4("div", { class: "json-children", children: [
        entries.slice(0, shown).map(([key, value], at) => a4("div", { class: "json-row", children: [
          key !== null && a4("span", { class: "json-key", children: [
            JSON.stringify(key),
            ": "
          ] }),
          a4(Tree, { node: value, depth: depth + 1, last: at === entries.length - 1 })
        ] }, key ?? at)),
        entries.length > shown && a4("button", { type: "button", class: "link", onClick: () => setShown(shown + 1e3), children: [
          count(entries.length - shown),
          " more"
        ] })
      ] }),
      a4("span", { children: close })
    ] })
  ] });
}

// console/parts/differences.tsx
var TONES = { added: "good", removed: "danger", changed: "warn" };
function Differences({ of: of2 }) {
  return a4(Show, { of: of2, rows: 3, empty: (data) => data.total ? null : a4("p", { class: "pad faint", children: "They do not differ." }), children: (data) => a4($, { children: [
    a4(
      Table,
      {
        label: "Differences",
        rows: data.items,
        keyOf: (row) => row.path.join("/"),
        columns: [
          { id: "change", label: "Change", width: "7rem", drop: "narrow", cell: (row) => a4(Tag, { tone: TONES[row.change], children: row.change }) },
          { id: "path", label: "Where", cell: (row) => a4("code", { class: "wrap", children: row.path.join(" › ") }) },
          { id: "before", label: "Before", width: "36%", cell: (row) => row.change !== "added" && a4(Side, { value: row.before }) },
          { id: "after", label: "After", width: "36%", cell: (row) => row.change !== "removed" && a4(Side, { value: row.after }) }
        ]
      }
    ),
    data.total > data.items.length && a4("p", { class: "pad faint", children: [
      plural(data.total, "difference"),
      " in all."
    ] })
  ] }) });
}
function Side({ value }) {
  return typeof value === "object" && value !== null ? a4(Value, { value }) : a4("code", { class: "wrap", children: typeof value === "string" ? value : JSON.stringify(value) });
}

// console/lib/find.ts
async function find(text, signal) {
  const id = text.trim();
  const tenant2 = scope.value ?? (me.value?.tenant ? void 0 : "*");
  return (await call("GET /v1/find", { query: { id, tenant: tenant2 }, signal })).items;
}

// console/parts/badges.tsx
var inboxCount = y3(0);
function watchBadges() {
  let timer;
  const read4 = async () => {
    timer = void 0;
    try {
      const found = await call("GET /v1/waitpoints", { query: { tenant: scope.value, limit: 100 } });
      inboxCount.value = found.items.length;
    } catch {
    }
  };
  x2(() => {
    if (me.value) {
      void scope.value;
      void read4();
    }
  });
  listen((changes) => {
    const matters = changes.some((change) => change.type === "all" || change.type === "waitpoint" || change.data.state === "suspended" || change.data.from === "suspended");
    if (matters) timer ??= setTimeout(() => void read4(), 1500);
  });
}

// console/parts/dialog.tsx
function Dialog({ title, close, children, class: name = "" }) {
  const element = T2(null);
  const id = P2();
  F2(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog.showModal();
    return () => {
      if (dialog.open) dialog.close();
      before?.focus?.();
    };
  }, []);
  return a4("dialog", { ref: element, class: `dialog ${name}`, "aria-labelledby": id, onClose: close, onClick: (event) => event.target === element.current && close(), children: a4("div", { class: "dialog-body", children: [
    a4("header", { children: [
      a4("h2", { id, children: title }),
      a4("button", { type: "button", class: "icon-button quiet", "aria-label": "Close", onClick: close, children: a4(Icon, { name: "close" }) })
    ] }),
    children
  ] }) });
}
function ActionDialog() {
  const action = asked.value;
  return action && a4(Confirm, { action }, action.title);
}
function Confirm({ action }) {
  const [values, setValues] = d2(() => initialOf(action));
  const [typed, setTyped] = d2("");
  const [problem, setProblem] = d2(null);
  const [isBusy, setBusy] = d2(false);
  const close = () => {
    asked.value = null;
  };
  const wrong = (action.fields ?? []).find((field) => field.kind === "json" && values[field.name]?.trim() && !parse(values[field.name]));
  const isReady = !isBusy && !wrong && (!action.typed || typed === action.typed);
  const submit = async (event) => {
    event.preventDefault();
    if (!isReady) return;
    setBusy(true);
    const refused = await perform(action, values);
    setBusy(false);
    setProblem(refused);
    if (!refused) close();
  };
  return a4(Dialog, { title: action.title, close, children: a4("form", { onSubmit: submit, noValidate: true, children: [
    action.about && a4("p", { class: "about", children: action.about }),
    (action.fields ?? []).map((field) => a4(Field, { field, value: values[field.name] ?? "", change: (value) => setValues({ ...values, [field.name]: value }) }, field.name)),
    wrong && a4("p", { class: "problem", children: [
      wrong.label,
      " is not JSON."
    ] }),
    action.typed && a4("label", { class: "field", children: [
      a4("span", { children: [
        "Type ",
        a4("b", { children: action.typed }),
        " to confirm"
      ] }),
      a4("input", { value: typed, onInput: (event) => setTyped(event.currentTarget.value), autocomplete: "off" })
    ] }),
    a4(Refused, { problem }),
    a4(Commands, { texts: [asCommand(action, values), curlCommand(action, values)] }),
    a4("footer", { children: [
      a4("button", { type: "button", class: "button", onClick: close, children: "Back" }),
      a4("button", { type: "submit", class: `button ${action.isDangerous ? "danger-fill" : "primary"}`, disabled: !isReady, children: action.verb })
    ] })
  ] }) });
}
function Field({ field, value, change }) {
  const id = P2();
  const shared = { id, name: field.name, value, "aria-describedby": field.hint ? `${id}-hint` : void 0 };
  if (field.kind === "check")
    return a4("label", { class: "field check", children: [
      a4("input", { type: "checkbox", checked: value === "true", onChange: (event) => change(String(event.currentTarget.checked)) }),
      a4("span", { children: field.label })
    ] });
  return a4("div", { class: "field", children: [
    a4("label", { for: id, children: field.label }),
    field.kind === "select" ? a4("select", { ...shared, onChange: (event) => change(event.currentTarget.value), children: field.options.map((option2) => a4("option", { children: option2 }, option2)) }) : field.kind === "json" || field.kind === "long" ? a4("textarea", { ...shared, class: field.kind === "json" ? "mono" : "", rows: field.kind === "json" ? 10 : 3, spellcheck: false, onInput: (event) => change(event.currentTarget.value) }) : a4("input", { ...shared, inputMode: field.kind === "number" ? "numeric" : void 0, autocomplete: "off", onInput: (event) => change(event.currentTarget.value) }),
    field.hint && a4("p", { class: "hint", id: `${id}-hint`, children: field.hint })
  ] });
}

// console/parts/help.tsx
var isHelpOpen = y3(false);
function Help() {
  if (!isHelpOpen.value) return null;
  const seen2 = new Map(bindings().map((binding) => [binding.keys, binding]));
  return a4(Dialog, { title: "Keys", close: () => isHelpOpen.value = false, class: "help", children: [
    a4("div", { class: "help-keys", children: [...seen2.values()].map((binding) => a4("div", { children: [
      a4("span", { children: binding.about }),
      a4("span", { children: binding.keys.split(" ").map((key) => a4("kbd", { children: key }, key)) })
    ] }, binding.keys)) }),
    a4("label", { class: "field check", children: [
      a4("input", { type: "checkbox", checked: singleKeys.value, onChange: (event) => singleKeys.value = event.currentTarget.checked }),
      a4("span", { children: "Single keys do something (Ctrl+K always works)" })
    ] }),
    a4("p", { class: "hint", children: [
      "The console calls the public HTTP API and nothing else: whatever it does, ",
      a4("code", { children: "curl" }),
      " and ",
      a4("code", { children: "holdfast" }),
      " can do."
    ] })
  ] });
}

// console/parts/shell.tsx
var GROUPS = [
  [
    "",
    [
      { page: "", label: "Overview", icon: "overview", key: "o" },
      { page: "runs", label: "Runs", icon: "runs", key: "r" },
      { page: "inbox", label: "Inbox", icon: "inbox", key: "i" },
      { page: "causes", label: "Failures", icon: "cause", key: "f" },
      { page: "graphs", label: "Graphs", icon: "graph", key: "g" }
    ]
  ],
  [
    "Conversations",
    [
      { page: "sessions", label: "Sessions", icon: "session", key: "s" },
      { page: "deployments", label: "Deployments", icon: "deployment", key: "d" }
    ]
  ],
  [
    "Capacity",
    [
      { page: "workers", label: "Workers and lanes", icon: "worker", key: "w" },
      { page: "queues", label: "Queues", icon: "queue", key: "q" },
      { page: "schedules", label: "Schedules", icon: "schedule", key: "c" },
      { page: "limits", label: "Budgets and quotas", icon: "limit", key: "b" }
    ]
  ],
  [
    "System",
    [
      { page: "archive", label: "Archive", icon: "archive" },
      { page: "leases", label: "Writer leases", icon: "lease" },
      { page: "keys", label: "API keys", icon: "key" },
      { page: "audit", label: "Audit log", icon: "audit" },
      { page: "settings", label: "Settings", icon: "settings" }
    ]
  ]
];
var ENTRIES = GROUPS.flatMap(([, entries]) => entries);
function Shell({ children }) {
  const [isOpen, setOpen] = d2(false);
  A2(() => setOpen(false), [place.value]);
  useKeys(ENTRIES.filter((entry) => entry.key).map((entry) => ({ keys: `g ${entry.key}`, about: `Go to ${entry.label}`, run: () => document.getElementById(`nav-${entry.page}`)?.click() })));
  return a4("div", { class: `shell ${isOpen ? "menu-open" : ""} ${isNarrow.value ? "narrow" : ""}`, children: [
    a4("a", { class: "skip", href: "#main", children: "Skip to the content" }),
    a4(Sidebar, {}),
    a4("button", { type: "button", class: "scrim", "aria-label": "Close the menu", tabIndex: -1, onClick: () => setOpen(false) }),
    a4("div", { class: "stage", children: [
      a4(TopBar, { openMenu: () => setOpen(!isOpen), isOpen }),
      a4(Banners, {}),
      a4("main", { id: "main", tabIndex: -1, children })
    ] })
  ] });
}
function Sidebar() {
  return a4("nav", { class: "sidebar", "aria-label": "Pages", id: "sidebar", children: [
    a4("a", { class: "brand", href: to([]), "aria-label": "Holdfast, overview", children: [
      a4("svg", { viewBox: "0 0 24 24", "aria-hidden": "true", class: "mark", children: a4("path", { d: "M12 2.500v6M12 15.500v6M5 7.500c0 5 14 4 14 9M19 7.500c0 5-14 4-14 9" }) }),
      a4("span", { children: "Holdfast" })
    ] }),
    a4("div", { class: "nav-groups", children: GROUPS.map(([name, entries]) => a4("div", { class: "nav-group", children: [
      name && a4("h2", { children: name }),
      entries.map((entry) => a4("a", { id: `nav-${entry.page}`, href: to(entry.page ? [entry.page] : []), "aria-current": page.value === entry.page ? "page" : void 0, title: entry.label, children: [
        a4(Icon, { name: entry.icon }),
        a4("span", { children: entry.label }),
        entry.page === "inbox" && inboxCount.value > 0 && a4("b", { class: "badge", children: count(inboxCount.value) })
      ] }, entry.page))
    ] }, name)) }),
    a4(Account, {})
  ] });
}
function Account() {
  const caller = me.value;
  const tenants = caller?.tenants ?? [];
  return a4("div", { class: "account", children: [
    caller && !caller.key_tenant && tenants.length > 0 && a4("label", { children: [
      a4("span", { class: "hidden", children: "Tenant" }),
      a4("select", { value: tenant.value ?? "", onChange: (event) => chooseTenant(event.currentTarget.value || null), children: [
        a4("option", { value: "", children: "All tenants" }),
        tenants.map((name) => a4("option", { value: name, children: name }, name))
      ] })
    ] }),
    tenant.value && a4("a", { class: "link small", href: to(["tenants", tenant.value]), children: [
      "About ",
      tenant.value
    ] }),
    a4("div", { class: "account-row", children: [
      a4(Icon, { name: "person" }),
      a4("span", { class: "clip", title: caller?.roles.join(", "), children: caller?.name || caller?.key || (caller?.access === "open" ? "open access" : "…") }),
      caller?.session_expires_at && a4("button", { type: "button", class: "link", onClick: () => void logOut(), children: "Log out" })
    ] })
  ] });
}
var NEXT = { auto: "light", light: "dark", dark: "auto" };
function TopBar({ openMenu, isOpen }) {
  return a4("header", { class: "topbar", children: [
    a4("button", { type: "button", class: "icon-button menu", "aria-label": "Menu", "aria-expanded": isOpen, "aria-controls": "sidebar", onClick: openMenu, children: a4(Icon, { name: "menu" }) }),
    a4("button", { type: "button", class: "find", onClick: () => isPaletteOpen.value = true, children: [
      a4(Icon, { name: "search" }),
      a4("span", { children: "Find a page or paste an id" }),
      a4("kbd", { children: "/" })
    ] }),
    a4("div", { class: "tools", children: [
      a4(Live, {}),
      a4("button", { type: "button", class: "icon-button", "aria-label": `Theme: ${theme.value}`, title: `Theme: ${theme.value}`, onClick: () => theme.value = NEXT[theme.value], children: a4(Icon, { name: theme.value === "auto" ? "auto" : theme.value === "light" ? "sun" : "moon" }) }),
      a4("button", { type: "button", class: "icon-button", "aria-label": "Keys and help", title: "Keys and help (?)", onClick: () => isHelpOpen.value = true, children: a4(Icon, { name: "help" }) })
    ] })
  ] });
}
var LINKS = { connecting: "Connecting", live: "Live", polling: "Every 5 s", lost: "Lost" };
function Live() {
  const isPaused = paused.value;
  const tone = link.value === "lost" ? "danger" : isPaused ? "warn" : "good";
  return a4("button", { type: "button", class: `live tone-${tone}`, "aria-pressed": isPaused, title: isPaused ? "Paused: press to go on" : "Press to pause", onClick: () => pause(!isPaused), children: [
    a4("i", { "aria-hidden": "true" }),
    isPaused ? held.value ? `Paused, ${count(held.value)} changes` : "Paused" : LINKS[link.value]
  ] });
}
function Banners() {
  const lost = lostAt.value;
  return a4($, { children: [
    me.value?.banner && a4("div", { class: "banner tone-warn", role: "note", children: [
      a4(Icon, { name: "info" }),
      a4("span", { children: a4(Marked, { text: me.value.banner }) })
    ] }),
    lost !== null && a4("div", { class: "banner tone-danger", role: "alert", children: [
      a4(Icon, { name: "cause" }),
      a4("span", { children: [
        "Connection lost ",
        span(Math.max(0, now.value - lost)),
        " ago. What you see may be old; the console tries again by itself."
      ] })
    ] })
  ] });
}

// console/parts/palette.tsx
var isPaletteOpen = y3(false);
var recent = kept("recent", []);
function seen(title, href) {
  if (recent.peek()[0]?.href === href) return;
  recent.value = [{ title, href }, ...recent.peek().filter((one) => one.href !== href)].slice(0, 8);
}
var ICONS = { execution: "runs", graph: "graph", waitpoint: "inbox", session: "session", worker: "worker", key: "key", queue: "queue", message: "queue", schedule: "schedule", deployment: "deployment", request: "audit" };
function Palette() {
  return isPaletteOpen.value ? a4(Open, {}) : null;
}
function Open() {
  const [text, setText] = d2("");
  const [at, setAt] = d2(0);
  const [found, setFound] = d2([]);
  const waits = T2("");
  const dialog = T2(null);
  const close = () => void (isPaletteOpen.value = false);
  F2(() => dialog.current.showModal(), []);
  A2(() => {
    setAt(0);
    setFound([]);
    if (text.trim().length < 2) return;
    const control = new AbortController();
    const timer = setTimeout(async () => {
      const items = await find(text, control.signal).catch(() => []);
      if (control.signal.aborted) return;
      const hits2 = items.map((item) => ({ title: item.title === item.id ? item.id : `${item.title} ${item.id}`, note: phrase(item.noun), icon: ICONS[item.noun] ?? "dot", href: pageOf(item.noun, item.within ?? item.id) ?? "" }));
      if (waits.current === "open") open([...hits2, ...pagesFor(text)][0]);
      waits.current = "";
      setFound(hits2);
    }, 120);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [text]);
  const hits = [...found, ...pagesFor(text), ...text ? [] : recent.value.map((one) => ({ ...one, note: "Recent", icon: "clock" }))];
  const open = (hit) => {
    if (!hit) return;
    close();
    go(hit.href);
  };
  const key = (event) => {
    if (event.key === "ArrowDown") setAt(Math.min(hits.length - 1, at + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
    else if (event.key === "Enter" && waits.current) waits.current = "open";
    else if (event.key === "Enter") open(hits[at]);
    else return;
    event.preventDefault();
  };
  return a4("dialog", { ref: dialog, class: "palette", "aria-label": "Find", onClose: close, onClick: (event) => event.target === dialog.current && close(), children: [
    a4("div", { class: "palette-input", children: [
      a4(Icon, { name: "search" }),
      a4(
        "input",
        {
          autofocus: true,
          value: text,
          placeholder: "Page, id of a run, session, queue, worker, request …",
          "aria-label": "Find a page or an id",
          role: "combobox",
          "aria-expanded": "true",
          "aria-controls": "palette-hits",
          "aria-activedescendant": hits[at] ? `hit-${at}` : void 0,
          onInput: ({ currentTarget: { value } }) => {
            waits.current = value.trim().length < 2 ? "" : "search";
            setText(value);
          },
          onKeyDown: key,
          spellcheck: false
        }
      ),
      a4("kbd", { children: "Esc" })
    ] }),
    a4("ul", { id: "palette-hits", role: "listbox", "aria-label": "Found", children: hits.map((hit, index) => a4("li", { id: `hit-${index}`, role: "option", "aria-selected": index === at, onClick: () => open(hit), onMouseMove: () => setAt(index), children: [
      a4(Icon, { name: hit.icon }),
      a4("span", { class: "clip", children: hit.title }),
      a4("span", { class: "faint", children: hit.note })
    ] }, hit.href)) }),
    !hits.length && a4("p", { class: "palette-none", children: "Nothing has this name or id." })
  ] });
}
function pagesFor(text) {
  const wanted = text.trim().toLowerCase();
  return ENTRIES.filter((entry) => entry.label.toLowerCase().includes(wanted)).map((entry) => ({
    title: entry.label,
    note: entry.key ? `Page · g ${entry.key}` : "Page",
    icon: entry.icon,
    href: to(entry.page ? [entry.page] : [])
  }));
}

// console/parts/chart.tsx
function StackedBar({ parts, label }) {
  const whole = parts.reduce((sum, part) => sum + part.value, 0) || 1;
  return a4("div", { class: "stacked", role: "img", "aria-label": label, children: parts.map(
    (part, at) => part.value > 0 && a4("span", { class: `stacked-part ${part.tone ? `tone-${part.tone}` : `hue-${at % 6}`}`, style: { width: `${part.value / whole * 100}%` }, title: `${part.name}: ${part.value}` }, part.name)
  ) });
}
function StateBar({ counts }) {
  const parts = Object.entries(counts).map(([name, value]) => ({ name, value, tone: toneOf(name) }));
  return a4(StackedBar, { parts, label: parts.map((part) => `${part.value} ${part.name}`).join(", ") });
}
function Sparkline({ values, label, tone = "accent" }) {
  const most = Math.max(0, ...values ?? []);
  if (!values || values.length < 2) return null;
  const points = values.map((value, at) => `${(at / (values.length - 1) * 100).toFixed(1)},${(22 - (most ? value / most * 20 : 0)).toFixed(1)}`).join(" ");
  return a4("svg", { class: `spark tone-${tone}`, viewBox: "0 0 100 24", preserveAspectRatio: "none", role: "img", "aria-label": `${label} in the last hour, at most ${most}`, children: a4("polyline", { points, "vector-effect": "non-scaling-stroke" }) });
}

// console/parts/split.tsx
var WHOLE = 1e4;
var PRESETS = [100, 500, 2500, 5e3, 1e4];
function SplitEditor({ where, deployment, forecasts }) {
  const before = Object.fromEntries(deployment.split.entries.map((entry) => [entry.revision, entry.weight_bps]));
  const choices = deployment.revisions.filter((one) => one.lifecycle === "ready");
  const [weights, setWeights] = d2(before);
  A2(() => setWeights(before), [deployment.split.generation]);
  if (!choices.length) return a4(Card, { title: "Split", children: a4("p", { class: "pad faint", children: "No revision is ready to serve." }) });
  const set = (id, value) => setWeights(balanced(choices.map((one) => one.id), weights, id, value));
  const isChanged = choices.some((one) => (weights[one.id] ?? 0) !== (before[one.id] ?? 0));
  const entries = choices.filter((one) => (weights[one.id] ?? 0) > 0).map((one) => ({ revision: one.id, weight_bps: weights[one.id] }));
  const save2 = () => ask({
    title: `Change the split of ${where.d}`,
    verb: "Change",
    about: foretold(deployment, weights, forecasts).join(" "),
    target: "PUT /v1/envs/{env}/deployments/{d}/split",
    path: { env: where.env, d: where.d },
    query: { tenant: where.tenant },
    body: () => ({ entries, expected_generation: deployment.split.generation }),
    cli: () => `split set ${where.d} ${entries.map((entry) => `${entry.revision}=${entry.weight_bps / 100}`).join(" ")} --generation ${deployment.split.generation}`,
    role: "operator",
    done: (reply2) => `Generation ${reply2.generation} serves.`
  });
  return a4(Card, { title: "Split of new sessions", children: a4("div", { class: "pad stack", children: [
    a4(StackedBar, { parts: choices.map((one) => ({ name: one.id, value: weights[one.id] ?? 0 })), label: "Split" }),
    choices.map((one, at) => a4("div", { class: "split-row", children: [
      a4("i", { class: `dot hue-${at % 6}`, "aria-hidden": "true" }),
      a4("span", { class: "clip strong", children: one.id }),
      a4("input", { type: "range", min: 0, max: WHOLE, step: 100, value: weights[one.id] ?? 0, "aria-label": `Share of ${one.id}`, "aria-valuetext": percent(weights[one.id] ?? 0), onInput: (event) => set(one.id, Number(event.currentTarget.value)) }),
      a4("input", { class: "bps", inputMode: "numeric", value: weights[one.id] ?? 0, "aria-label": `Basis points of ${one.id}`, onChange: (event) => set(one.id, Number(event.currentTarget.value) || 0) }),
      a4("span", { class: "num faint", children: percent(weights[one.id] ?? 0) })
    ] }, one.id)),
    a4("div", { class: "buttons", children: [
      a4("span", { class: "faint small", children: [
        choices.at(-1).id,
        ":"
      ] }),
      PRESETS.map((value) => a4("button", { type: "button", class: "button slim", onClick: () => set(choices.at(-1).id, value), children: percent(value) }, value))
    ] }),
    isChanged && a4("ul", { class: "foretold", role: "status", children: foretold(deployment, weights, forecasts).map((text) => a4("li", { children: text }, text)) }),
    a4("div", { class: "buttons end", children: [
      isChanged && a4("button", { type: "button", class: "button", onClick: () => setWeights(before), children: "Undo" }),
      a4("button", { type: "button", class: "button primary", disabled: !isChanged || !may("operator"), title: may("operator") ? "" : "Needs the role operator.", onClick: save2, children: "Change the split" })
    ] })
  ] }) });
}
function balanced(ids, weights, id, wanted) {
  const value = Math.max(0, Math.min(WHOLE, Math.round(wanted)));
  const others = ids.filter((one) => one !== id);
  if (!others.length) return { [id]: WHOLE };
  const sum = others.reduce((total, one) => total + (weights[one] ?? 0), 0);
  const next2 = { [id]: value };
  let rest2 = WHOLE - value;
  others.forEach((one, at) => {
    const share = at === others.length - 1 ? rest2 : Math.min(rest2, Math.round((WHOLE - value) * (sum ? (weights[one] ?? 0) / sum : 1 / others.length)));
    next2[one] = share;
    rest2 -= share;
  });
  return next2;
}
function foretold(deployment, weights, forecasts) {
  const lines = deployment.revisions.filter((one) => (weights[one.id] ?? 0) > 0).map((one) => `From now on about ${percent(weights[one.id])} of new sessions go to ${one.id}.`);
  for (const one of deployment.revisions)
    if (!weights[one.id] && (one.waiting || one.running)) lines.push(`${plural(one.waiting, "conversation")} that wait on ${one.id}, and ${count(one.running)} that run, stay there until they end${one.deadline_at ? `, or until ${exact(one.deadline_at)}` : ""}: ${forecasts[one.id]}.`);
  lines.push("Nobody is moved.");
  return lines;
}

// console/pages/deployments.tsx
function Split({ deployment }) {
  const parts = deployment.split.entries.map((entry) => ({ name: entry.revision, value: entry.weight_bps }));
  const words2 = parts.map((part) => `${part.name} ${percent(part.value)}`).join(", ");
  return parts.length ? a4("span", { class: "split-cell", children: [
    a4(StackedBar, { parts, label: words2 }),
    a4("span", { class: "faint small", children: words2 })
  ] }) : a4("span", { class: "faint", children: "no revision serves" });
}
function Deployments() {
  const env = param("env") || "local";
  const found = useLoad(
    async (signal) => {
      const [envs, deployments] = await Promise.all([call("GET /v1/envs", { signal }), call("GET /v1/envs/{env}/deployments", { path: { env }, query: { tenant: scope.value, limit: 200 }, signal })]);
      return { envs: envs.items.map((one) => one.name), deployments: deployments.items };
    },
    [scope.value, env],
    { when: of("deployment") }
  );
  return a4($, { children: [
    a4(Head, { title: "Deployments", sub: "A deployment routes new sessions to revisions by weight. Sessions that have begun stay where they are." }),
    a4(Show, { of: found, children: ({ envs, deployments }) => a4($, { children: [
      envs.length > 1 && a4("nav", { class: "strip", "aria-label": "Environments", children: envs.map((name) => a4("a", { href: here({ env: name === "local" ? null : name }), "aria-current": name === env ? "true" : void 0, children: name }, name)) }),
      deployments.length ? a4(Card, { children: a4(
        Table,
        {
          label: "Deployments",
          rows: deployments,
          keyOf: (row) => `${row.tenant} ${row.id}`,
          href: (row) => to(["deployments", row.env, row.id]),
          columns: [
            { id: "id", label: "Deployment", cell: (row) => a4("a", { class: "strong", href: to(["deployments", row.env, row.id]), children: row.id }) },
            { id: "pack", label: "Pack or app", drop: "narrow", cell: (row) => row.pack ?? row.app },
            { id: "split", label: "Split", kind: "grow", cell: (row) => a4(Split, { deployment: row }) },
            { id: "revisions", label: "Revisions", kind: "num", drop: "medium", cell: (row) => row.revisions.length },
            { id: "held", label: "Run or wait", kind: "num", drop: "narrow", cell: (row) => count(row.revisions.reduce((sum, one) => sum + one.running + one.waiting, 0)) },
            { id: "tenant", label: "Tenant", drop: "medium", cell: (row) => row.tenant },
            { id: "at", label: "Split since", kind: "num", drop: "medium", cell: (row) => a4(Time, { at: row.split.at }) }
          ]
        }
      ) }) : a4(Empty, { icon: "deployment", title: `Nothing is deployed to ${env}`, command: "holdfast deploy examples/packs/support", children: "A deployment makes a pack or an app answer people." })
    ] }) })
  ] });
}

// console/pages/deployment.tsx
function Deployment({ env, id }) {
  const path = { env, d: id };
  const query2 = { tenant: scope.value };
  const found = useLoad(
    async (signal) => {
      const [deployment, rollouts, events2] = await Promise.all([
        call("GET /v1/envs/{env}/deployments/{d}", { path, query: query2, signal }),
        soft(call("GET /v1/envs/{env}/deployments/{d}/rollouts", { path, query: { ...query2, limit: 10 }, signal })),
        soft(call("GET /v1/envs/{env}/deployments/{d}/events", { path, query: { ...query2, limit: 50 }, signal }))
      ]);
      const held2 = deployment.revisions.filter((one) => one.running + one.waiting > 0).slice(-10);
      const forecasts = held2.map(async ({ id: r4 }) => [r4, (await soft(call("GET /v1/envs/{env}/deployments/{d}/revisions/{r}/forecast", { path: { ...path, r: r4 }, query: query2, signal })))?.sentence ?? "cannot say"]);
      return { deployment, rollouts: rollouts?.items ?? [], events: events2?.items ?? [], forecasts: Object.fromEntries(await Promise.all(forecasts)) };
    },
    [env, id, scope.value],
    { when: of("deployment", "session") }
  );
  A2(() => seen(`Deployment ${id}`, to(["deployments", env, id])), [env, id]);
  return a4(Show, { of: found, children: (data) => a4(Found, { facts: data }) });
}
function Found({ facts: { deployment, rollouts, events: events2, forecasts } }) {
  const where = { env: deployment.env, d: deployment.id, tenant: deployment.tenant };
  const weights = new Map(deployment.split.entries.map((entry) => [entry.revision, entry.weight_bps]));
  const active = rollouts.find((one) => one.state === "running" || one.state === "paused");
  const chosen2 = deployment.revisions.find((one) => one.id === param("revision"));
  return a4($, { children: [
    a4(
      Head,
      {
        up: { label: "Deployments", page: "deployments" },
        title: deployment.id,
        sub: a4("span", { class: "head-facts", children: [
          a4("span", { children: deployment.pack ? `pack ${deployment.pack}` : `app ${deployment.app}` }),
          a4("span", { children: [
            "environment ",
            deployment.env
          ] }),
          a4("span", { children: [
            "tenant ",
            deployment.tenant
          ] }),
          a4("span", { children: [
            "generation ",
            deployment.split.generation,
            deployment.split.by ? ` by ${deployment.split.by}` : "",
            " ",
            deployment.split.at && a4(Time, { at: deployment.split.at })
          ] })
        ] }),
        children: deployment.past.length > 0 && a4(Button, { action: rollbackAction(where, deployment) })
      }
    ),
    a4(Split, { deployment }),
    active && a4(Rollout, { rollout: active, where }),
    a4(Card, { title: "Revisions", children: [
      a4(
        Table,
        {
          label: "Revisions",
          rows: [...deployment.revisions].reverse(),
          keyOf: (row) => row.id,
          chosen: param("revision"),
          columns: [
            { id: "id", label: "Revision", cell: (row) => a4("a", { class: "strong", href: here({ revision: row.id }), children: row.id }) },
            { id: "lifecycle", label: "Lifecycle", cell: (row) => a4(State, { name: row.lifecycle }) },
            ...deployment.revisions.some(gateWords) ? [{ id: "gate", label: "Held by", drop: "medium", cell: gateWords }] : [],
            { id: "weight", label: "Weight", kind: "num", cell: (row) => weights.get(row.id) ? percent(weights.get(row.id)) : a4("span", { class: "faint", children: "0 %" }) },
            { id: "running", label: "Running", kind: "num", drop: "narrow", cell: (row) => count(row.running) },
            { id: "waiting", label: "Waiting", kind: "num", cell: (row) => a4("a", { class: "link", href: here({ revision: row.id }), children: count(row.waiting) }) },
            { id: "oldest", label: "Oldest wait", kind: "num", drop: "narrow", cell: (row) => a4(Time, { at: row.oldest_wait }) },
            { id: "digest", label: "Digest", kind: "id", drop: "wide", cell: (row) => row.digest && a4("span", { class: "id", children: [
              middle(row.digest.replace("sha256:", ""), 14),
              a4(Copy, { text: row.digest, label: "Copy digest" })
            ] }) },
            { id: "staged", label: "Staged", kind: "num", drop: "medium", cell: (row) => a4(Time, { at: row.staged_at }) },
            { id: "act", label: "Actions", kind: "actions", drop: "narrow", cell: (row) => [...lifecycleActions(where, row), ...active ? [] : startRollout(where, row, deployment), ...drainAction(where, row, weights.get(row.id) ?? 0, forecasts[row.id])].map((action) => a4(Button, { action, tone: "slim" }, action.verb)) }
          ]
        }
      ),
      deployment.revisions.filter((one) => one.lifecycle === "draining" && forecasts[one.id]).map((one) => a4("p", { class: "pad faint", children: [
        one.id,
        " drains. Until nothing needs it: ",
        forecasts[one.id],
        "."
      ] }, one.id))
    ] }),
    chosen2 && a4(Holders, { where, revision: chosen2, forecast: forecasts[chosen2.id] }),
    chosen2 && a4(Changes, { where, revision: chosen2, others: deployment.revisions }, chosen2.id),
    a4("div", { class: "columns", children: [
      a4(SplitEditor, { where, deployment, forecasts }),
      a4(Card, { title: "What has changed", children: events2.length ? a4("ul", { class: "lines", children: events2.map((event, at) => a4("li", { children: [
        a4("div", { class: "line", children: [
          a4("span", { class: "line-main", children: [
            phrase(event.event),
            " ",
            event.revision ?? ""
          ] }),
          a4("span", { class: "line-sub", children: [
            event.generation !== null && `generation ${event.generation}, `,
            "by ",
            event.by || "the server"
          ] })
        ] }),
        a4("span", { class: "line-end", children: a4(Time, { at: event.at }) })
      ] }, at)) }) : a4("p", { class: "pad faint", children: "Nothing yet." }) })
    ] })
  ] });
}
function gateWords(revision) {
  const closed = revision.gates.filter((gate) => !gate.passed);
  return closed.map((gate) => `${gate.name}: ${gate.reason}`).join("; ");
}
function Holders({ where, revision, forecast }) {
  const found = useLoad(
    async (signal) => {
      const path = { env: where.env, d: where.d, r: revision.id };
      const query2 = { tenant: where.tenant };
      const [needs, figures2] = await Promise.all([
        call("GET /v1/envs/{env}/deployments/{d}/revisions/{r}/needs", { path, query: { ...query2, limit: 100 }, signal }),
        soft(call("GET /v1/envs/{env}/deployments/{d}/revisions/{r}/figures", { path, query: query2, signal }))
      ]);
      return { needs: needs.items, figures: figures2 };
    },
    [revision.id],
    { every: 5e3 }
  );
  return a4(Card, { title: `What holds revision ${revision.id}`, children: a4(Show, { of: found, rows: 3, children: ({ needs, figures: figures2 }) => a4($, { children: [
    figures2 && a4("div", { class: "pad", children: a4(Facts, { rows: [["Turns lately", count(figures2.turns)], ["Failed", figures2.error_rate_bps === null ? "too few to say" : percent(figures2.error_rate_bps)], ["Latency p95", figures2.p95_ms === null ? "too few to say" : span(figures2.p95_ms)], revision.deadline_at !== null && ["Drained by", a4(Time, { at: revision.deadline_at })], forecast !== void 0 && ["Until nothing needs it", forecast]] }) }),
    needs.length ? a4(
      Table,
      {
        label: "Holders",
        rows: needs,
        keyOf: (row) => row.execution,
        href: (row) => to(["runs", row.execution]),
        columns: [
          { id: "state", label: "State", cell: (row) => a4(State, { name: row.state }) },
          { id: "session", label: "Session", kind: "id", cell: (row) => row.session && a4(Id, { id: row.session, href: to(["sessions", row.session]), most: 16 }) },
          { id: "run", label: "Run", kind: "id", drop: "narrow", cell: (row) => a4(Id, { id: row.execution, href: to(["runs", row.execution]) }) },
          { id: "hold", label: "Waits for", drop: "narrow", cell: (row) => phrase(row.hold) },
          { id: "since", label: "Since", kind: "num", cell: (row) => a4(Time, { at: row.since }) }
        ]
      }
    ) : a4("p", { class: "pad faint", children: "Nothing needs it." })
  ] }) }) });
}
function Changes({ where, revision, others }) {
  const before = param("before") || (others.filter((one) => one.number < revision.number).at(-1)?.id ?? "");
  const found = useLoad((signal) => call("GET /v1/envs/{env}/deployments/{d}/revisions/{r}/diff", { path: { env: where.env, d: where.d, r: revision.id }, query: { tenant: where.tenant, ...before ? { other: before } : {} }, signal }), [revision.id, before]);
  return a4(
    Card,
    {
      title: `What is different in ${revision.id}`,
      extra: a4("label", { class: "pair small", children: [
        "before",
        a4("select", { value: before, onChange: (event) => go(here({ before: event.currentTarget.value }), { replace: true }), children: others.filter((one) => one.id !== revision.id).map((one) => a4("option", { children: one.id }, one.id)) })
      ] }),
      children: a4(Differences, { of: found })
    }
  );
}
function Rollout({ rollout, where }) {
  return a4(
    Card,
    {
      title: `Rollout of ${rollout.revision}`,
      extra: a4($, { children: [
        a4(State, { name: rollout.state }),
        rolloutActions(where, rollout).map((action) => a4(Button, { action, tone: "slim" }, action.verb))
      ] }),
      children: a4("div", { class: "pad rollout", children: [
        a4("ol", { class: "rollout-steps", children: rollout.steps.map((step, at) => a4("li", { "aria-current": at === rollout.step ? "step" : void 0, class: at < rollout.step ? "done" : "", children: [
          a4("b", { class: "num", children: percent(step.weight_bps) }),
          a4("span", { class: "faint", children: step.duration_ms ? `for ${span(step.duration_ms)}` : "until promoted" }),
          at === rollout.step && a4("span", { class: "small", children: [
            "since ",
            a4(Time, { at: rollout.step_at })
          ] })
        ] }, at)) }),
        a4("div", { class: "stack", children: [
          a4("p", { children: rollout.verdict }),
          a4(
            Table,
            {
              label: "Figures",
              rows: [
                { name: "New", figures: rollout.new },
                { name: "Old", figures: rollout.old }
              ],
              keyOf: (row) => row.name,
              columns: [
                { id: "name", label: "Revision", cell: (row) => row.name },
                { id: "turns", label: "Turns", kind: "num", cell: (row) => count(row.figures?.turns ?? 0) },
                { id: "errors", label: "Errors", kind: "num", cell: (row) => row.figures?.error_rate_bps === null || !row.figures ? "–" : percent(row.figures.error_rate_bps) },
                { id: "p95", label: "p95", kind: "num", cell: (row) => row.figures?.p95_ms ? span(row.figures.p95_ms) : "–" }
              ]
            }
          ),
          a4("p", { class: "faint small", children: [
            "Judged after ",
            count(rollout.guards.min_turns),
            " turns",
            rollout.guards.error_rate_bps !== null && `; aborts if its error rate is ${percent(rollout.guards.error_rate_bps)} higher`,
            rollout.guards.p95_percent !== null && `; or its p95 is more than ${rollout.guards.p95_percent} % of the old one's`,
            "."
          ] })
        ] })
      ] })
    }
  );
}

// console/parts/diagram.tsx
var LABELS_FROM = 0.45;
var MANY = 300;
var PAD = 24;
function Diagram({ nodes, edges, width, height, label, chosen: chosen2 }) {
  const box = T2(null);
  const [zoom, setZoom] = d2(nodes.length < MANY ? 1 : LABELS_FROM / 2);
  const [at, setAt] = d2({ x: 0, y: 0 });
  const drag = T2(null);
  const fit = () => {
    const { clientWidth, clientHeight } = box.current;
    const scale2 = Math.min(1, clientWidth / (width + 2 * PAD), clientHeight / (height + 2 * PAD));
    setZoom(scale2);
    setAt({ x: (clientWidth - width * scale2) / 2, y: Math.max(PAD * scale2, (clientHeight - height * scale2) / 2) });
  };
  F2(fit, [width, height]);
  const ways = w2(() => drawn(edges), [edges]);
  const scale = (by) => setZoom((now2) => Math.max(0.05, Math.min(2, now2 * by)));
  const down = (event) => {
    if (event.target.closest("a")) return;
    drag.current = { x: event.clientX - at.x, y: event.clientY - at.y };
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  const move = (event) => {
    if (drag.current) setAt({ x: event.clientX - drag.current.x, y: event.clientY - drag.current.y });
  };
  const hasLabels = zoom >= LABELS_FROM || nodes.length < MANY;
  return a4("div", { class: "diagram", ref: box, style: { height: `${Math.min(560, Math.max(200, height + 4 * PAD))}px` }, children: [
    a4(
      "svg",
      {
        role: "group",
        "aria-label": label,
        onPointerDown: down,
        onPointerMove: move,
        onPointerUp: () => drag.current = null,
        onWheel: (event) => {
          if (!event.ctrlKey && !event.metaKey) return;
          event.preventDefault();
          scale(event.deltaY < 0 ? 1.1 : 0.9);
        },
        children: a4("g", { transform: `translate(${at.x} ${at.y}) scale(${zoom})`, children: [
          ways,
          nodes.map(({ key, ...node }) => a4(Box, { ...node, isChosen: key === chosen2, hasLabel: hasLabels }, key))
        ] })
      }
    ),
    a4("div", { class: "diagram-tools", children: [
      a4("button", { type: "button", class: "icon-button", "aria-label": "Closer", onClick: () => scale(1.25), children: a4(Icon, { name: "plus" }) }),
      a4("button", { type: "button", class: "icon-button", "aria-label": "Further away", onClick: () => scale(0.8), children: a4(Icon, { name: "minus" }) }),
      a4("button", { type: "button", class: "icon-button", "aria-label": "Show all", onClick: fit, children: a4(Icon, { name: "overview" }) })
    ] })
  ] });
}
function drawn(edges) {
  return Object.entries(Object.groupBy(edges, (edge) => edge.kind ?? "success")).map(([kind, ways = []]) => a4("g", { class: `edge edge-${kind}`, children: [
    a4("path", { d: ways.map((way) => curve(way.points)).join("") }),
    a4("path", { class: "tip", d: ways.map((way) => tip(way.points)).join("") })
  ] }, kind));
}
var Box = class extends x {
  shouldComponentUpdate(next2) {
    return Object.entries(next2).some(([name, value]) => value !== this.props[name]);
  }
  render({ label, note, state, href, x: x3, y: y5, w: w5, h: h5, isChosen, hasLabel }) {
    const Shape = href ? "a" : "g";
    return a4(Shape, { class: `node tone-${toneOf(state)} ${isChosen ? "chosen" : ""} ${hasLabel ? "" : "far"}`, transform: `translate(${x3} ${y5})`, ...href && { href, "aria-label": `${label}, ${note || state}` }, children: [
      a4("rect", { x: -w5 / 2, y: -h5 / 2, width: w5, height: h5, rx: "8" }),
      hasLabel && a4("rect", { class: "node-edge", x: -w5 / 2, y: -h5 / 2, width: "4", height: h5, rx: "2" }),
      hasLabel && a4("text", { x: 14 - w5 / 2, y: note ? -4 : 4, class: "node-label", children: fitted(label, w5) }),
      hasLabel && note && a4("text", { x: 14 - w5 / 2, y: "13", class: "node-note", children: fitted(note, w5) }),
      a4("title", { children: `${label} ${note}` })
    ] });
  }
};
function fitted(text, width) {
  const most = Math.max(4, Math.floor((width - 22) / 7));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
function joined(points, from2, to2) {
  if (!from2 || !to2 || points.length < 2) return points;
  const [first, ...rest2] = points;
  const last2 = rest2.pop();
  const down = last2[1] >= first[1] ? 1 : -1;
  return [[first[0], first[1] + down * from2.h / 2], ...rest2, [last2[0], last2[1] - down * (to2.h / 2 + 2)]];
}
function curve(points) {
  const [first, ...rest2] = points;
  if (!first) return "";
  let path = `M${first[0]} ${first[1]}`;
  let before = first;
  for (const point of rest2) {
    const middle2 = (before[1] + point[1]) / 2;
    path += ` C${before[0]} ${middle2} ${point[0]} ${middle2} ${point[0]} ${point[1]}`;
    before = point;
  }
  return path;
}
function tip(points) {
  const [before, end] = points.slice(-2);
  if (!before || !end) return "";
  const [x3, y5] = end;
  const back = end[1] >= before[1] ? -7 : 7;
  return `M${x3 - 4} ${y5 + back}L${x3} ${y5}L${x3 + 4} ${y5 + back}z`;
}

// console/parts/virtual.tsx
var ROW = 36;
var MARGIN = 12;
function useVisible(count2, row) {
  const box = T2(null);
  const [{ top, height, margin }, setPlace] = d2({ top: 0, height: 0.6 * innerHeight, margin: 0 });
  const look = () => setPlace({ top: box.current?.scrollTop ?? 0, height: box.current?.clientHeight ?? 0, margin: MARGIN });
  A2(() => {
    const observer = new ResizeObserver(look);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const end = Math.min(count2, Math.ceil((top + height) / row) + margin);
  return { box, look, first: Math.min(end, Math.max(0, Math.floor(top / row) - margin)), end, height };
}
function VirtualTable({ rows, columns, keyOf: keyOf2, href, label, total, selected, select, more, busy }) {
  const { box, look, first, end, height } = useVisible(rows.length, ROW);
  const [at, step] = useCursor(rows, keyOf2);
  A2(() => {
    if (more && end > rows.length - 20) more();
  }, [end, rows.length, more]);
  const move = (by) => {
    const next2 = step(by);
    const element = box.current;
    if (!element) return;
    if (next2 * ROW < element.scrollTop + ROW) element.scrollTop = next2 * ROW - ROW;
    else if ((next2 + 3) * ROW > element.scrollTop + height) element.scrollTop = (next2 + 3) * ROW - height;
  };
  const toggle = (key) => {
    const keys = new Set(selected);
    if (!keys.delete(key)) keys.add(key);
    select(keys);
  };
  useKeys([
    { keys: "j", about: "Next row", run: () => move(1) },
    { keys: "k", about: "Previous row", run: () => move(-1) },
    { keys: "x", about: "Select the row", run: () => rows[at] && toggle(keyOf2(rows[at])) },
    { keys: "Escape", about: "Clear the selection", run: () => select(/* @__PURE__ */ new Set()) },
    { keys: "Enter", about: "Open the row", run: () => rows[at] && go(href(rows[at])) }
  ]);
  const scrolled = () => {
    look();
    busy((box.current?.scrollTop ?? 0) > ROW * 2);
  };
  const shown = [checkColumn(keyOf2, selected, toggle), ...columns];
  return a4("div", { class: "virtual", ref: box, onScroll: scrolled, tabIndex: 0, role: "region", "aria-label": label, children: a4("table", { class: "table fixed", "aria-label": label, "aria-rowcount": total ?? rows.length, children: [
    a4(Head2, { columns: shown }),
    a4("tbody", { children: [
      first > 0 && a4("tr", { "aria-hidden": "true", style: { height: `${first * ROW}px` } }),
      rows.slice(first, end).map((row, index) => {
        const key = keyOf2(row);
        const name = `${first + index === at ? "chosen" : ""} ${selected.has(key) ? "selected" : ""}`;
        return a4("tr", { class: name, "aria-rowindex": first + index + 2, children: a4(Cells, { row, columns: shown }) }, (first + index) % 200);
      }),
      end < rows.length && a4("tr", { "aria-hidden": "true", style: { height: `${(rows.length - end) * ROW}px` } })
    ] })
  ] }) });
}
function checkColumn(keyOf2, selected, toggle) {
  return {
    id: "check",
    label: "Select",
    kind: "actions",
    drop: "narrow",
    width: "2.25rem",
    cell: (row) => a4("input", { type: "checkbox", checked: selected.has(keyOf2(row)), onChange: () => toggle(keyOf2(row)), "aria-label": `Select ${keyOf2(row)}` })
  };
}

// console/parts/timeline.tsx
var ICONS2 = { queue: "clock", run: "play", end: "flag", step: "flag", wait: "hand", delay: "timer", child: "fork", progress: "dots" };
var ROW2 = 28;
var NESTED = /* @__PURE__ */ new Set(["step", "child", "progress"]);
var TONES2 = { queue: "muted", wait: "violet", delay: "muted", step: "good", progress: "accent" };
function Timeline({ axis, spans, isWaterfall = false }) {
  const chosen2 = param("span");
  const joins = (at) => isWaterfall && spans[at]?.execution === spans[at + 1]?.execution;
  const rows = spans.map((one, at) => ({ one, at, before: at && joins(at - 1) ? spans[at - 1] : void 0 })).filter(({ at }) => at === spans.length - 1 || !joins(at));
  const { box, look, first, end } = useVisible(rows.length, ROW2);
  return a4("div", { class: "timeline", role: "table", "aria-label": "Timeline", "aria-rowcount": rows.length, ref: box, onScroll: look, tabIndex: 0, children: [
    a4(Axis, { axis }),
    a4("div", { role: "none", style: { height: `${first * ROW2}px` } }),
    rows.slice(first, end).map(({ one, before, at }) => a4(Row, { span: one, before, axis, depth: NESTED.has(one.type) && !isWaterfall ? 1 : 0, isChosen: chosen2 === String(at), at }, at)),
    a4("div", { role: "none", style: { height: `${(rows.length - end) * ROW2}px` } })
  ] });
}
function Axis({ axis }) {
  return a4("div", { class: "tl-row tl-axis", role: "row", children: [
    a4("span", { class: "tl-label", role: "columnheader", children: "Span" }),
    a4("span", { class: "tl-track", role: "columnheader", "aria-label": "Time", children: axis.map((part, at) => a4("span", { class: part.folded ? "tl-fold" : "tl-part", style: { left: `${part.start * 100}%`, width: `${(part.end - part.start) * 100}%` }, title: `${exact(part.since)} to ${exact(part.until)}`, children: part.end - part.start > 0.09 && a4("i", { children: part.folded ? `${span(part.ms)} idle` : clock(part.since) }) }, at)) }),
    a4("span", { class: "tl-ms", role: "columnheader", children: "Time" })
  ] });
}
function Row({ span: one, before, axis, depth, isChosen, at }) {
  const tone = TONES2[one.type] ?? (toneOf(one.state) === "plain" ? "accent" : toneOf(one.state));
  const href = one.execution ? pageOf("execution", one.execution) : null;
  const width = Math.max(0, one.end - one.start) * 100;
  const used = Object.entries(one.usage).map(([name, value]) => `${brief(value)} ${name.replaceAll("_", " ")}`).join(", ");
  const about = `${one.label}, ${span(one.ms)}${one.state ? `, ${one.state}` : ""}${used ? `, ${used}` : ""}, from ${exact(one.since)}`;
  return a4("div", { class: `tl-row ${isChosen ? "chosen" : ""}`, role: "row", children: [
    a4("span", { class: `tl-label depth-${depth}`, role: "cell", children: [
      a4(Icon, { name: ICONS2[one.type] ?? "dot" }),
      href ? a4("a", { class: "clip", href, title: one.label, children: one.label }) : a4("a", { class: "clip plain", href: here({ span: isChosen ? null : String(at) }), title: one.label, children: one.type === "step" ? one.label : capital(one.label) })
    ] }),
    a4("span", { class: "tl-track", role: "cell", children: [
      axis.map((part, index) => part.folded && a4("span", { class: "tl-hatch", style: { left: `${part.start * 100}%`, width: `${(part.end - part.start) * 100}%` } }, index)),
      before && a4("span", { class: "tl-bar tl-queue tone-muted", style: { left: `${before.start * 100}%`, width: `${(before.end - before.start) * 100}%` }, title: `in line ${span(before.ms)}` }),
      a4("span", { class: `tl-bar tl-${one.type} tone-${tone} ${one.until === null ? "open" : ""}`, style: { left: `${one.start * 100}%`, width: `${width}%` }, title: about, children: a4("span", { class: "hidden", children: about }) }),
      used && a4("span", { class: `tl-used ${one.end > 0.6 ? "before" : ""}`, style: one.end > 0.6 ? { right: `${(1 - one.start) * 100}%` } : { left: `${one.end * 100}%` }, children: used })
    ] }),
    a4("span", { class: "tl-ms num", role: "cell", children: span(one.ms) }),
    isChosen && one.text && a4("p", { class: "tl-text", children: one.text })
  ] });
}

// console/pages/graph.tsx
function Graph({ id }) {
  const path = { id };
  const query2 = { tenant: scope.value };
  const drawn2 = T2(void 0);
  const found = useLoad(
    async (signal) => {
      const place2 = () => call("GET /v1/graphs/{id}/layout", { path, query: query2, signal });
      const [graph, layout] = await Promise.all([call("GET /v1/graphs/{id}", { path, query: query2, signal }), drawn2.current ?? place2()]);
      drawn2.current = layout.revision === graph.revision ? layout : await place2();
      return { graph, layout: drawn2.current };
    },
    [id, scope.value],
    { when: (change) => change.type === "execution" && String(change.data.execution).startsWith(id) }
  );
  const [news, setNews] = d2({});
  A2(() => listen((changes) => setNews((before) => ({ ...before, ...Object.fromEntries(changes.map(({ data }) => [data.execution, data.state])) }))), []);
  A2(() => seen(`Graph ${id}`, to(["graphs", id])), [id]);
  return a4(Show, { of: found, children: ({ graph, layout }) => a4(Found2, { graph, layout, news }) });
}
function Found2({ graph, layout, news }) {
  const members = Object.entries(graph.members).map(([key, member]) => ({ ...member, key, state: news[member.id] ?? member.state }));
  const counts = {};
  for (const member of members) counts[member.state] = (counts[member.state] ?? 0) + 1;
  const edges = w2(() => edgesOf(layout), [layout]);
  const [isWhole, setWhole] = d2(false);
  A2(() => setWhole(true), []);
  return a4($, { children: [
    a4(
      Head,
      {
        up: { label: "Graphs", page: "graphs" },
        title: a4(Id, { id: graph.id, most: 32, copy: true }),
        sub: a4("span", { class: "head-facts", children: [
          a4(State, { name: graph.state }),
          a4("span", { children: [
            count(graph.size - graph.open),
            " of ",
            count(graph.size),
            " ended"
          ] }),
          a4("span", { children: [
            "created ",
            a4(Time, { at: graph.created_at })
          ] }),
          a4(Span, { from: graph.created_at, until: graph.completed_at })
        ] }),
        children: graphActions(graph).map((action) => a4(Button, { action }, action.verb))
      }
    ),
    a4(StateBar, { counts }),
    a4(Card, { children: a4(Diagram, { nodes: nodesOf(members, layout), edges, width: layout.size.w, height: layout.size.h, label: `Graph of ${graph.size} runs; the list below has the same` }) }),
    isWhole && a4(Details, { graph, members })
  ] });
}
function Details({ graph, members }) {
  const needs = w2(() => Object.groupBy(graph.edges, (edge) => edge.to), [graph]);
  return a4($, { children: [
    a4(Waterfall, { graph }),
    a4("div", { class: "run-grid", children: [
      a4(Card, { title: "Members", children: a4(
        Table,
        {
          label: "Members",
          rows: members,
          keyOf: (row) => row.key,
          href: (row) => to(["runs", row.id]),
          columns: [
            { id: "state", label: "State", cell: (row) => a4(State, { name: row.state }) },
            { id: "key", label: "Member", cell: (row) => a4("a", { class: "strong", href: to(["runs", row.id]), children: row.key }) },
            { id: "kind", label: "Task", cell: (row) => row.kind, drop: "narrow" },
            { id: "needs", label: "Waits for", kind: "grow", drop: "narrow", cell: (row) => needs[row.key]?.slice(0, 6).map((edge) => `${edge.from}${edge.on === "success" ? "" : ` (${edge.on})`}`).join(", ") },
            { id: "join", label: "Join", drop: "medium", cell: (row) => row.join.policy === "quorum" ? `${row.join.k} of them` : row.join.policy }
          ]
        }
      ) }),
      a4(Card, { title: "Facts", children: a4("div", { class: "pad", children: a4(
        Facts,
        {
          rows: [
            ["Tenant", graph.tenant],
            ["Revision", graph.revision],
            ["Failures", graph.failures],
            graph.deadline_at !== null && ["Deadline", a4(Time, { at: graph.deadline_at })],
            graph.parent !== null && ["Parent", a4(Id, { id: graph.parent, href: to(["runs", graph.parent]) })],
            !!graph.reason && ["Reason", graph.reason],
            graph.replays > 0 && ["Replays", graph.replays]
          ]
        }
      ) }) })
    ] })
  ] });
}
function Waterfall({ graph }) {
  const found = useLoad((signal) => call("GET /v1/graphs/{id}/timeline", { path: { id: graph.id }, query: { tenant: scope.value }, signal }), [graph.id, graph.open], { when: (change) => change.type === "execution" && String(change.data.execution).startsWith(graph.id) });
  return a4(Card, { title: "Waterfall", extra: found.data?.more && a4("span", { class: "faint small", children: "the first 500 members" }), children: a4(Show, { of: found, rows: 3, children: (data) => a4(Timeline, { axis: data.axis, spans: data.spans, isWaterfall: true }) }) });
}
function nodesOf(members, layout) {
  const states = new Map(members.map(({ key, state }) => [key, state]));
  return layout.nodes.map((node) => {
    const state = states.get(node.key) ?? node.state;
    return { key: node.key, label: node.key, note: `${state.replaceAll("_", " ")} · ${node.kind}`, state, href: to(["runs", node.id]), x: node.x, y: node.y, w: node.w, h: node.h };
  });
}
function edgesOf(layout) {
  const byKey = new Map(layout.nodes.map((node) => [node.key, node]));
  return layout.edges.map((edge) => ({ from: edge.from, to: edge.to, kind: edge.on, points: joined(edge.points, byKey.get(edge.from), byKey.get(edge.to)) }));
}
function graphActions(graph) {
  if (graph.state === "running")
    return [
      {
        title: `Cancel graph ${graph.id}`,
        verb: "Cancel graph",
        icon: "slash",
        about: `${count(graph.open)} members have not ended.`,
        target: "POST /v1/graphs/{id}/cancel",
        path: { id: graph.id },
        fields: [{ name: "policy", label: "Members", kind: "select", options: ["cancel_all", "cancel_pending", "leave"], initial: "cancel_all", hint: "cancel_pending lets those that run end; leave lets all go on." }, REASON],
        body: ({ policy, reason }) => ({ policy, reason }),
        cli: ({ policy, reason }) => `graphs cancel ${quoted(graph.id)}${option("policy", policy)}${option("reason", reason)}`,
        role: "operator",
        isDangerous: true,
        done: (reply2) => `${count(reply2.cancelled)} members cancelled.`
      }
    ];
  return [
    {
      title: `Replay graph ${graph.id}`,
      verb: "Replay",
      icon: "retry",
      about: "Members that did not complete run again; results of the others stay.",
      target: "POST /v1/graphs/{id}/replay",
      path: { id: graph.id },
      fields: [REASON],
      body: ({ reason }) => ({ reason }),
      cli: ({ reason }) => `graphs replay ${quoted(graph.id)}${option("reason", reason)}`,
      role: "operator"
    }
  ];
}

// console/pages/graphs.tsx
var STATES2 = ["running", "completed", "failed", "cancelled"];
function Graphs() {
  const state = param("state");
  const found = useLoad((signal) => call("GET /v1/graphs", { query: { tenant: scope.value, limit: 200, ...state ? { state } : {} }, signal }), [scope.value, state], { when: of("execution") });
  return a4($, { children: [
    a4(Head, { title: "Graphs", sub: "Sets of runs in which some wait for others. The store starts each as soon as it may." }),
    a4("nav", { class: "strip", "aria-label": "States", children: ["", ...STATES2].map((one) => a4("a", { href: here({ state: one || null }), "aria-current": one === state ? "true" : void 0, children: one ? phrase(one) : "All" }, one)) }),
    a4(
      Show,
      {
        of: found,
        empty: (data) => {
          if (data.items.length) return null;
          if (state) return a4(Notice, { icon: "search", title: `No graph is ${state}` });
          return a4(Empty, { icon: "graph", title: "There is no graph", children: [
            "Submit one with ",
            a4("code", { children: "app.graph()" }),
            " or ",
            a4("code", { children: "POST /v1/graphs" }),
            "."
          ] });
        },
        children: (data) => a4(Card, { children: a4(
          Table,
          {
            label: "Graphs",
            rows: data.items,
            keyOf: (row) => row.id,
            href: (row) => to(["graphs", row.id]),
            columns: [
              { id: "state", label: "State", cell: (row) => a4(State, { name: row.state }) },
              { id: "id", label: "Graph", kind: "id", cell: (row) => a4(Id, { id: row.id, href: to(["graphs", row.id]), most: 20 }) },
              { id: "size", label: "Members", kind: "num", drop: "narrow", cell: (row) => count(row.size) },
              { id: "open", label: "Open", kind: "num", drop: "narrow", cell: (row) => count(row.open) },
              { id: "failures", label: "Failed", kind: "num", cell: (row) => a4("span", { class: row.failures ? "tone-danger toned" : "", children: count(row.failures) }) },
              { id: "tenant", label: "Tenant", drop: "medium", cell: (row) => row.tenant },
              { id: "took", label: "Time", kind: "num", drop: "narrow", cell: (row) => a4(Span, { from: row.created_at, until: row.completed_at }) },
              { id: "created", label: "Created", kind: "num", drop: "narrow", cell: (row) => a4(Time, { at: row.created_at }) }
            ]
          }
        ) })
      }
    )
  ] });
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
var words = { ...en };

// chat/schema.ts
function resolved(schema, root2, depth = 0) {
  if (depth > 8) return schema;
  const { $ref, anyOf, oneOf, allOf, ...rest2 } = schema;
  if (typeof $ref === "string" && $ref.startsWith("#/")) {
    let target = root2;
    for (const part of $ref.slice(2).split("/")) target = objectOf(target)[part] ?? null;
    return { ...resolved(objectOf(target), root2, depth + 1), ...rest2 };
  }
  const choices = [anyOf, oneOf, allOf].find(Array.isArray);
  const first = choices?.map(objectOf).find((one) => one.type !== "null");
  return first ? { ...resolved(first, root2, depth + 1), ...rest2 } : schema;
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

// console/lib/fields.ts
var INPUTS = { email: "email", date: "date", "date-time": "datetime-local", time: "time", uri: "url" };
var LONG = 200;
var DEEPEST = 8;
function fieldOf(given, root2, path = "", required = true, name = "") {
  const isDeep = path.split(".").length > DEEPEST;
  const choices = [given.oneOf, given.anyOf].find(Array.isArray)?.map(objectOf).filter((one) => one.type !== "null") ?? [];
  const constants = choices.filter((one) => one.const !== void 0);
  const variants = choices.length > 1 && constants.length < choices.length ? choices : [];
  const schema = variants.length || constants.length ? given : resolved(given, root2);
  const values = Array.isArray(schema.enum) ? schema.enum : schema.const === void 0 ? [] : [schema.const];
  const options2 = constants.length ? constants.map((one) => ({ label: textOf(one.title) || worded(one.const), value: one.const })) : values.map((value) => ({ label: worded(value), value }));
  const properties = Object.entries(objectOf(schema.properties));
  const wanted = new Set(Array.isArray(schema.required) ? schema.required : []);
  const inner = (key) => path ? `${path}.${key}` : key;
  const kind = isDeep ? "json" : variants.length ? "variant" : options2.length ? "choice" : kindOf(schema, properties.length > 0);
  const field = {
    path,
    label: textOf(schema.title) || wordsOf(name),
    hint: textOf(schema.description),
    kind,
    input: INPUTS[textOf(schema.format)] ?? "text",
    required,
    initial: schema.default,
    options: options2,
    fields: []
  };
  if (kind === "object") field.fields = properties.map(([key, one]) => fieldOf(objectOf(one), root2, inner(key), wanted.has(key), key));
  if (kind === "variant") field.fields = variants.map((one, at) => fieldOf(one, root2, path, true, textOf(one.title) || textOf(one.$ref).split("/").at(-1) || `${textOf(one.type) || "Choice"} ${at + 1}`));
  if (kind === "list") field.item = (at) => fieldOf(objectOf(schema.items), root2, inner(String(at)), true, `${field.label} ${at + 1}`);
  return field;
}
function kindOf(schema, hasProperties) {
  if (schema.type === "boolean" || schema.type === "integer" || schema.type === "number") return schema.type;
  if (schema.type === "string") return Number(schema.maxLength) > LONG ? "long" : "text";
  if (schema.type === "array" && schema.items) return "list";
  return hasProperties ? "object" : "json";
}
function worded(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}
function rawOf(field, value = field.initial) {
  switch (field.kind) {
    case "object":
      return Object.fromEntries(field.fields.map((one) => [keyOf(one), rawOf(one, objectOf(value)[keyOf(one)] ?? one.initial)]));
    case "list":
      return Array.isArray(value) ? value.map((one, at) => rawOf(field.item(at), one)) : [];
    case "variant":
      return { at: "0", value: rawOf(field.fields[0], value ?? field.fields[0].initial) };
    case "boolean":
      return value === true;
    case "choice":
      return value === void 0 ? "" : String(field.options.findIndex((one) => JSON.stringify(one.value) === JSON.stringify(value)));
    default:
      return value === void 0 || value === null ? "" : worded(value);
  }
}
function keyOf(field) {
  return field.path.split(".").at(-1);
}
function isBlank(raw) {
  if (typeof raw !== "object") return !raw;
  return Object.entries(raw).every(([name, one]) => name === "at" && "value" in raw || isBlank(one));
}
function valueOf(field, raw, problems) {
  const isTree = field.kind === "object" || field.kind === "variant";
  if (isTree && !field.required && isBlank(raw)) return void 0;
  if (field.kind === "object") {
    const found = field.fields.map((one) => [keyOf(one), valueOf(one, raw[keyOf(one)], problems)]).filter((entry) => entry[1] !== void 0);
    return Object.fromEntries(found);
  }
  if (field.kind === "list") return raw.length || field.required ? raw.map((one, at) => valueOf(field.item(at), one, problems) ?? null) : void 0;
  if (field.kind === "variant") return valueOf(field.fields[Number(raw.at)], raw.value, problems);
  if (field.kind === "boolean") return raw;
  const text = String(raw).trim();
  if (!text) {
    if (field.required) problems[field.path] = "Please fill this in.";
    return void 0;
  }
  if (field.kind === "choice") return field.options[Number(text)].value;
  if (field.kind === "text" || field.kind === "long") return text;
  try {
    const value = JSON.parse(text);
    if (field.kind === "json" || typeof value === "number" && (field.kind === "number" || Number.isInteger(value))) return value;
  } catch {
    if (field.kind === "json") return text;
  }
  problems[field.path] = field.kind === "integer" ? "Please write a whole number." : "Please write a number.";
  return void 0;
}

// console/parts/form.tsx
function Form({ schema, verb, isAllowed, problem, send: send2 }) {
  const field = w2(() => fieldOf(schema, schema), [JSON.stringify(schema)]);
  const [raw, setRaw] = d2(() => rawOf(field));
  const [wrong, setWrong] = d2({});
  const submit = (event) => {
    event.preventDefault();
    const problems2 = {};
    const value = valueOf(field, raw, problems2);
    setWrong(problems2);
    const first = Object.keys(problems2)[0];
    if (first === void 0) send2(value ?? {});
    else event.currentTarget.querySelector(`[name="${CSS.escape(first)}"]`)?.focus();
  };
  const refused = String(problem?.more.field ?? "").split(".").slice(1).join(".");
  const problems = refused ? { [refused]: problem.message, ...wrong } : wrong;
  return a4("form", { class: "form", onSubmit: submit, noValidate: true, children: [
    a4(Inner, { field, raw, change: setRaw, problems, isOutermost: true }),
    a4("button", { type: "submit", class: "button primary", disabled: !isAllowed, children: verb })
  ] });
}
function Inner({ field, raw, change, problems, isOutermost = false }) {
  if (field.kind === "object") {
    const value = raw;
    const fields = field.fields.map((one) => a4(Inner, { field: one, raw: value[keyOf(one)], change: (next2) => change({ ...value, [keyOf(one)]: next2 }), problems }, one.path));
    return isOutermost ? a4("div", { class: "stack", children: fields }) : a4(Group, { field, problems, children: fields });
  }
  if (field.kind === "variant") {
    const { at, value } = raw;
    const chosen2 = field.fields[Number(at)];
    return a4(Group, { field, problems, children: [
      a4("select", { "aria-label": `Kind of ${field.label || "value"}`, value: at, onChange: (event) => change({ at: event.currentTarget.value, value: rawOf(field.fields[Number(event.currentTarget.value)]) }), children: field.fields.map((one, index) => a4("option", { value: index, children: one.label }, index)) }),
      a4(Inner, { field: chosen2, raw: value, change: (next2) => change({ at, value: next2 }), problems, isOutermost: true }, at)
    ] });
  }
  if (field.kind === "list") {
    const items = raw;
    return a4(Group, { field, problems, children: [
      items.map((one, at) => a4("div", { class: "list-item", children: [
        a4(Inner, { field: field.item(at), raw: one, change: (next2) => change(items.with(at, next2)), problems }),
        a4("button", { type: "button", class: "icon-button quiet", "aria-label": `Remove ${field.item(at).label}`, onClick: () => change(items.toSpliced(at, 1)), children: a4(Icon, { name: "close" }) })
      ] }, `${items.length} ${at}`)),
      a4("button", { type: "button", class: "button slim", onClick: () => change([...items, rawOf(field.item(items.length))]), children: [
        a4(Icon, { name: "plus" }),
        " Add"
      ] })
    ] });
  }
  return a4(Single, { field, raw, change, problem: problems[field.path] });
}
function Group({ field, problems, children }) {
  return a4("fieldset", { class: "group", children: [
    a4("legend", { children: field.label }),
    field.hint && a4("p", { class: "hint", children: field.hint }),
    children,
    problems[field.path] && a4("p", { class: "problem", children: problems[field.path] })
  ] });
}
function Single({ field, raw, change, problem }) {
  const id = P2();
  const shared = { id, name: field.path, required: field.required, "aria-invalid": problem ? "true" : void 0, "aria-describedby": problem || field.hint ? `${id}-about` : void 0 };
  const typed = (event) => change(event.currentTarget.value);
  const isNumber = field.kind === "number" || field.kind === "integer";
  return a4("div", { class: `field ${field.kind === "boolean" ? "check" : ""}`, children: [
    field.kind === "boolean" && a4("input", { type: "checkbox", ...shared, required: false, checked: raw === true, onChange: (event) => change(event.currentTarget.checked) }),
    a4("label", { for: id, children: [
      field.label,
      !field.required && field.kind !== "boolean" && a4("span", { class: "note", children: " (optional)" })
    ] }),
    field.kind === "choice" && a4("select", { ...shared, value: String(raw), onChange: typed, children: [
      a4("option", { value: "", children: "Choose" }),
      field.options.map((one, at) => a4("option", { value: at, children: one.label }, at))
    ] }),
    (field.kind === "long" || field.kind === "json") && a4("textarea", { ...shared, class: field.kind === "json" ? "mono" : "", rows: 3, value: String(raw), onInput: typed }),
    (field.kind === "text" || isNumber) && a4("input", { ...shared, type: isNumber ? "text" : field.input, inputMode: isNumber ? "decimal" : void 0, value: String(raw), autocomplete: "off", onInput: typed }),
    (problem || field.hint) && a4("p", { class: problem ? "problem" : "hint", id: `${id}-about`, children: problem || field.hint })
  ] });
}

// console/pages/inbox.tsx
var SOON_MS = 864e5;
function Inbox() {
  const points = useLoad((signal) => call("GET /v1/waitpoints", { query: { tenant: scope.value, limit: 500 }, signal }), [scope.value], { when: of("waitpoint", "execution") });
  return a4($, { children: [
    a4(Head, { title: "Inbox", sub: "Questions that runs ask people. A run that waits for an answer holds no worker." }),
    a4(
      Show,
      {
        of: points,
        empty: (data) => data.items.length ? null : a4(Empty, { icon: "inbox", title: "Nobody has to answer anything", children: "When a task waits for an approval or an answer, the question appears here." }),
        children: (data) => a4(Desk, { points: sorted(data.items) })
      }
    )
  ] });
}
function sorted(points) {
  const end = (point) => Date.parse(point.until ?? point.expires_at ?? "9999-01-01");
  return [...points].sort((one, other) => end(one) - end(other));
}
function Desk({ points }) {
  const at = Math.max(0, points.findIndex((point) => point.id === param("id")));
  const open = (index) => {
    const point = points[Math.max(0, Math.min(points.length - 1, index))];
    if (point) go(here({ id: point.id }), { replace: true });
  };
  useKeys([
    { keys: "j", about: "Next question", run: () => open(at + 1) },
    { keys: "k", about: "Previous question", run: () => open(at - 1) },
    { keys: "e", about: "Fill in the answer", run: () => document.querySelector(".answer input, .answer textarea, .answer select")?.focus() }
  ]);
  const chosen2 = points[at];
  return a4("div", { class: "desk", children: [
    a4("ul", { class: "card desk-list", "aria-label": "Questions", children: points.map((point, index) => a4("li", { children: a4("a", { href: here({ id: point.id }), "aria-current": index === at ? "true" : void 0, class: "desk-item", children: [
      a4("b", { class: "clip", children: point.title || point.name }),
      a4("span", { class: "desk-sub", children: [
        a4("span", { class: "clip", children: point.kind }),
        a4(Deadline, { point })
      ] })
    ] }) }, point.id)) }),
    a4(Question, { point: chosen2, next: () => open(at === points.length - 1 ? at - 1 : at + 1) }, chosen2.id)
  ] });
}
function Deadline({ point }) {
  const end = point.until ?? point.expires_at;
  if (!end) return a4("span", { class: "faint", children: "no deadline" });
  const isSoon = Date.parse(end) - now.value < SOON_MS;
  return a4("span", { class: isSoon ? "tone-danger toned" : "faint", children: [
    isSoon ? "due " : "",
    a4(Time, { at: end })
  ] });
}
function Question({ point, next: next2 }) {
  const summary = useLoad(
    async (signal) => {
      const path = { id: point.execution };
      const query2 = { tenant: scope.value };
      const [document2, steps] = await Promise.all([soft(call("GET /v1/executions/{id}/summary", { path, query: query2, signal })), soft(call("GET /v1/executions/{id}/steps", { path, query: { ...query2, limit: 50 }, signal }))]);
      return { document: document2?.document ?? {}, steps: (steps?.items ?? []).slice(-5) };
    },
    [point.id]
  );
  return a4("div", { class: "column", children: [
    a4(Card, { title: point.title || point.name, extra: point.escalated ? a4(Tag, { tone: "warn", children: "escalated" }) : void 0, children: a4("div", { class: "pad stack", children: [
      a4(
        Facts,
        {
          rows: [
            ["Run", a4(Id, { id: point.execution, href: to(["runs", point.execution]), copy: true })],
            ["Task", point.kind],
            ["Tenant", point.tenant],
            ["Asked", a4(Time, { at: point.created_at })],
            ["Until", a4(Deadline, { point })],
            point.wanted !== null && ["Answers", `${point.came.length} of ${point.wanted}${point.came.length ? `, by ${point.came.join(", ")}` : ""}`],
            point.answerers.length > 0 && ["May answer", point.answerers.join(", ")]
          ]
        }
      ),
      summary.data && Object.keys(summary.data.document).length > 0 && a4("details", { open: true, children: [
        a4("summary", { children: "Summary of the run" }),
        a4(Value, { value: summary.data.document })
      ] }),
      seesPayloads() && summary.data && summary.data.steps.length > 0 && a4("details", { children: [
        a4("summary", { children: "What it did last" }),
        summary.data.steps.map((step) => a4("div", { class: "pair", children: [
          a4("b", { children: step.name }),
          a4(Value, { value: step.result })
        ] }, step.name))
      ] })
    ] }) }),
    a4(Answer, { point, next: next2 })
  ] });
}
function Answer({ point, next: next2 }) {
  const [who, setWho] = d2(me.value?.name ?? me.value?.key ?? "operator");
  const [comment, setComment] = d2("");
  const [json, setJson] = d2("");
  const [problem, setProblem] = d2(null);
  const [armed, setArmed] = d2(null);
  const schema = point.schema;
  const hasFields = !!schema && typeof schema === "object" && Object.keys(schema.properties ?? {}).length > 0;
  const names = point.signals.length ? point.signals : ["approve", "deny"];
  const isAllowed = may("operator") || may("worker");
  const answer = async (name, payload2) => {
    try {
      const { token } = await call("GET /v1/executions/{id}/waitpoints/{wp}/token", { path: { id: point.execution, wp: point.id }, query: { tenant: scope.value, ...point.personal ? { person: who } : {} } });
      const { effect } = await call("POST /v1/signals/{waitpoint}", { path: { waitpoint: point.id }, body: { token, name, payload: payload2, source: { type: "user", identity: who } } });
      tell(effect === "duplicate" ? `${who} has answered already.` : `Answered: ${name}.`, "good");
      setProblem(null);
      next2();
      reloadAll();
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, "page_failed", String(error), ""));
    }
    setArmed(null);
  };
  const decide = (name) => {
    const given = json.trim();
    if (given && !parse(given)) return setProblem(new Problem(0, "not_json", "The answer is not JSON.", ""));
    void answer(name, given ? JSON.parse(given) : { approved: name === "approve", ...comment ? { comment } : {} });
  };
  useKeys(
    hasFields ? [] : [
      { keys: "a", about: "Approve (Enter confirms)", run: () => setArmed("approve") },
      { keys: "d", about: "Deny (Enter confirms)", run: () => setArmed("deny") },
      { keys: "Enter", about: "Confirm", run: () => armed && decide(armed) },
      { keys: "Escape", about: "Back", run: () => setArmed(null) }
    ]
  );
  const isJson = param("as") === "json";
  A2(() => setProblem(null), [isJson]);
  return a4(Card, { title: "Answer", children: a4("div", { class: "pad stack answer", children: [
    !isAllowed && a4("p", { class: "problem", children: "Answering here needs the role operator." }),
    point.answerers.length > 0 ? a4("label", { class: "field", children: [
      a4("span", { children: "Answer as" }),
      a4("select", { value: who, onChange: (event) => setWho(event.currentTarget.value), children: [.../* @__PURE__ */ new Set([who, ...point.answerers])].map((name) => a4("option", { children: name }, name)) })
    ] }) : a4("label", { class: "field", children: [
      a4("span", { children: "Answer as" }),
      a4("input", { value: who, onInput: (event) => setWho(event.currentTarget.value) })
    ] }),
    hasFields && a4(Tabs, { name: "as", tabs: [{ id: "form", label: "Form" }, { id: "json", label: "JSON" }] }),
    hasFields && !isJson ? a4(Form, { schema, verb: "Send", isAllowed, problem, send: (data) => void answer(names[0], data) }) : a4($, { children: [
      !hasFields && a4("label", { class: "field", children: [
        a4("span", { children: "Comment" }),
        a4("input", { value: comment, onInput: (event) => setComment(event.currentTarget.value) })
      ] }),
      hasFields && a4("div", { class: "json-answer", children: [
        a4("label", { class: "field", children: [
          a4("span", { children: "Answer in JSON" }),
          a4("textarea", { class: "mono", rows: 6, value: json, onInput: (event) => setJson(event.currentTarget.value), spellcheck: false })
        ] }),
        schema && a4("details", { open: true, children: [
          a4("summary", { children: "Schema" }),
          a4(Value, { value: schema })
        ] })
      ] }),
      armed && a4("p", { role: "status", class: "tone-warn toned", children: [
        "Press Enter to ",
        armed,
        ", Esc to go back."
      ] }),
      a4("div", { class: "buttons", children: names.map((name) => a4("button", { type: "button", class: `button ${name === "deny" ? "danger" : name === names[0] ? "primary" : ""} ${armed === name ? "armed" : ""}`, disabled: !isAllowed, onClick: () => decide(name), children: [
        a4(Icon, { name: name === "deny" ? "cross" : "check" }),
        " ",
        name[0].toUpperCase() + name.slice(1)
      ] }, name)) })
    ] }),
    a4(Refused, { problem }),
    a4(Commands, { texts: [`holdfast signal ${quoted(point.id)} approve --payload '{"approved": true}' --as ${quoted(who)}`], children: a4("p", { class: "hint", children: [
      "People without access answer at a link: ",
      a4("code", { children: [
        "holdfast waitpoints token ",
        middle(point.id, 30)
      ] }),
      "."
    ] }) })
  ] }) });
}

// console/pages/keys.tsx
var DAY_MS = 864e5;
var made = y3(null);
function Keys() {
  const found = useLoad((abort) => call("GET /v1/keys", { signal: abort }), [], { every: 15e3 });
  return a4($, { children: [
    a4(Head, { title: "API keys", sub: "A key belongs to one tenant, or to an operator of all, and has roles. The server checks them at every call.", children: a4(Button, { action: create(), tone: "primary" }) }),
    a4(
      Show,
      {
        of: found,
        empty: (data) => data.items.length ? null : a4(Empty, { icon: "key", title: "There is no key", command: "holdfast keys create --role admin", children: "Until there is one, this server answers only on this machine, and every caller acts as the operator. With the first key, callers without one are refused." }),
        children: (data) => a4(Card, { children: a4(
          Table,
          {
            label: "Keys",
            rows: data.items,
            keyOf: (row) => row.id,
            chosen: param("id"),
            columns: [
              { id: "name", label: "Name", cell: (row) => a4("b", { class: "strong", children: row.name || "unnamed" }) },
              { id: "id", label: "Id", kind: "id", drop: "narrow", cell: (row) => a4(Id, { id: row.id, copy: true }) },
              { id: "state", label: "State", cell: (row) => a4(State, { name: stateOf(row) === "live" ? "live" : "ended", word: { live: "Valid", revoked: "Revoked", expired: "Expired" }[stateOf(row)] }) },
              { id: "tenant", label: "Tenant", cell: (row) => row.tenant ?? "all" },
              { id: "roles", label: "Roles", cell: (row) => a4("span", { class: "buttons", children: row.roles.map((role) => a4(Tag, { children: role }, role)) }) },
              { id: "payloads", label: "Payloads", drop: "medium", cell: (row) => row.payloads },
              { id: "used", label: "Last used", kind: "num", drop: "narrow", cell: (row) => a4(Time, { at: row.last_used_at }) },
              { id: "expires", label: "Expires", kind: "num", drop: "medium", cell: (row) => a4(Time, { at: row.expires_at }) },
              { id: "created", label: "Created", kind: "num", drop: "medium", cell: (row) => a4(Time, { at: row.created_at }) },
              { id: "act", label: "Actions", kind: "actions", cell: (row) => stateOf(row) === "live" && a4(Button, { action: revoke(row), tone: "slim" }) }
            ]
          }
        ) })
      }
    ),
    made.value && a4(Dialog, { title: "The key", close: () => made.value = null, children: [
      a4("p", { class: "about", children: "Copy it now. The server keeps only its digest, so it is never shown again." }),
      a4("div", { class: "command", children: [
        a4("code", { children: made.value.secret }),
        a4(Copy, { text: made.value.secret, label: "Copy key" })
      ] })
    ] })
  ] });
}
function stateOf(key) {
  if (key.revoked_at) return "revoked";
  return key.expires_at && Date.parse(key.expires_at) < now.value ? "expired" : "live";
}
function create() {
  return {
    title: "Create an API key",
    verb: "Create key",
    icon: "plus",
    target: "POST /v1/keys",
    fields: [
      { name: "name", label: "Name", kind: "text", hint: "What it is for." },
      { name: "role", label: "Role", kind: "select", options: ["viewer", "submitter", "worker", "operator", "admin"], initial: "viewer" },
      { name: "payloads", label: "Payloads", kind: "select", options: ["redacted", "none", "all"], initial: "redacted", hint: "What it sees of inputs, results and messages." },
      { name: "tenant", label: "Tenant", kind: "text", hint: "Empty: all tenants." },
      { name: "days", label: "Expires after days", kind: "number", hint: "Empty: never." }
    ],
    body: ({ name, role, payloads, tenant: tenant2, days }) => ({ name, roles: [role], payloads, ...tenant2 ? { tenant: tenant2 } : {}, ...days ? { ttl_ms: Number(days) * DAY_MS } : {} }),
    cli: ({ name, role, payloads, tenant: tenant2, days }) => `keys create --role ${role} --payloads ${payloads}${option("name", name)}${option("tenant", tenant2)}${days ? ` --ttl ${days}d` : ""}`,
    role: "admin",
    done: () => "The key is created.",
    after: (reply2) => made.value = reply2
  };
}
function revoke(key) {
  return {
    title: `Revoke key ${key.name || key.id}`,
    verb: "Revoke",
    icon: "slash",
    about: "Every server refuses it within 5 seconds. This cannot be undone.",
    target: "DELETE /v1/keys/{key}",
    path: { key: key.id },
    cli: () => `keys revoke ${quoted(key.id)}`,
    role: "admin",
    isDangerous: true,
    done: () => "The key is revoked."
  };
}

// console/pages/leases.tsx
function Leases() {
  const key = param("key");
  return a4($, { children: [
    a4(Head, { title: "Writer leases", sub: "A lease gives one process the right to write something, and fences off those that had it before." }),
    a4(Search, { fields: { key: "key of a lease, such as ledger/main" }, verb: "Show" }),
    key ? a4(Lease, { name: key }, key) : a4(Empty, { icon: "lease", title: "Name a lease", command: "holdfast writer-lease show ledger/main", children: "Leases are found by the key that their holders use." })
  ] });
}
function Lease({ name }) {
  const found = useLoad((signal) => call("GET /v1/writer-leases/{key}", { path: { key: name }, query: { tenant: scope.value }, signal }), [name, scope.value], { every: 3e3 });
  return a4(Show, { of: found, children: (lease) => {
    const isHeld = !lease.released && Date.parse(lease.expires_at) > now.value;
    return a4("div", { class: "columns", children: [
      a4(Card, { title: lease.key, children: a4("div", { class: "pad", children: a4(
        Facts,
        {
          rows: [
            ["State", a4(State, { name: isHeld ? "live" : "ended", word: isHeld ? "Held" : lease.released ? "Released" : "Expired" })],
            ["Holder", lease.holder],
            ["Incarnation", a4("code", { children: lease.incarnation })],
            ["Token", `term ${lease.token.term}, generation ${lease.token.generation}`],
            ["Held since", a4(Time, { at: lease.acquired_at })],
            ["Until", a4(Time, { at: lease.expires_at })],
            ["Lives for", span(lease.ttl_ms)],
            lease.successor !== null && ["Successor", lease.successor]
          ]
        }
      ) }) }),
      a4(Card, { title: "Holders before", children: lease.holders.length ? a4(
        Table,
        {
          label: "Holders before",
          rows: lease.holders,
          keyOf: (row) => `${row.token.term} ${row.token.generation}`,
          columns: [
            { id: "holder", label: "Holder", cell: (row) => row.holder },
            { id: "token", label: "Token", kind: "num", cell: (row) => `${row.token.term}.${row.token.generation}` },
            { id: "since", label: "Acquired", cell: (row) => a4(Time, { at: row.acquired_at }) },
            { id: "ended", label: "Ended", cell: (row) => phrase(row.ended) }
          ]
        }
      ) : a4("p", { class: "pad faint", children: "Nobody held it before." }) })
    ] });
  } });
}

// console/parts/spend.tsx
function Spend({ budget }) {
  return a4($, { children: Object.entries(budget.limits).map(([dimension, limit]) => {
    const used = (budget.usage[dimension] ?? 0) + (budget.reserved[dimension] ?? 0);
    const most = limit.hard ?? limit.soft ?? 0;
    const tone = limit.hard !== null && used >= limit.hard ? "danger" : limit.soft !== null && used >= limit.soft ? "warn" : "accent";
    return a4("span", { class: "budget-row", children: [
      a4("span", { class: "clip", children: dimension }),
      a4(Meter, { value: used, most, tone, label: `${used} of ${most} ${dimension}` }),
      a4("span", { class: "num", children: [
        count(used),
        " / ",
        count(most),
        limit.soft !== null && limit.hard !== null && a4("span", { class: "faint", children: [
          " warns at ",
          count(limit.soft)
        ] })
      ] })
    ] }, dimension);
  }) });
}
function grant(budget) {
  const dimensions = Object.keys(budget.limits);
  const limits = (values) => Object.fromEntries(dimensions.filter((name) => values[name]?.trim()).map((name) => [name, { hard: Number(values[name]) }]));
  return {
    title: `Change the limits of ${budget.id}`,
    verb: "Change",
    icon: "edit",
    about: "Runs that wait for this budget start as soon as it admits them.",
    target: "PATCH /v1/budgets/{id}",
    path: { id: budget.id },
    query: { tenant: budget.tenant },
    fields: dimensions.map((name) => ({ name, label: `${name}, at most`, kind: "number", initial: String(budget.limits[name].hard ?? "") })),
    body: (values) => ({ limits: limits(values) }),
    cli: (values) => `budgets set ${quoted(budget.id)}${dimensions.map((name) => option("hard", `${name}=${values[name] ?? ""}`)).join("")}`,
    role: "operator",
    done: () => `The limits of ${budget.id} are changed.`
  };
}

// console/pages/limits.tsx
function Limits() {
  const found = useLoad(
    async (signal) => {
      const query2 = { tenant: scope.value, limit: 500 };
      const [budgets, quotas, rules] = await Promise.all([call("GET /v1/budgets", { query: query2, signal }), call("GET /v1/quotas", { query: query2, signal }), soft(call("GET /v1/rules", { signal }))]);
      return { budgets: budgets.items, quotas: quotas.items, rules: rules?.items ?? [] };
    },
    [scope.value],
    { when: of("execution"), every: 5e3 }
  );
  return a4($, { children: [
    a4(Head, { title: "Budgets and quotas", sub: "Budgets count what is spent, such as tokens or money. Quotas limit how many runs start or run at once." }),
    a4(
      Show,
      {
        of: found,
        empty: (data) => data.budgets.length || data.quotas.length ? null : a4(Empty, { icon: "limit", title: "Nothing is limited", command: "holdfast quotas create mail-api --max-concurrent 5", children: "A run that names a budget or a quota starts only while it admits it." }),
        children: ({ budgets, quotas, rules }) => a4($, { children: [
          budgets.length > 0 && a4(Card, { title: "Budgets", children: a4("ul", { class: "lines", children: budgets.map((budget) => a4(Budget, { budget, subjects: rules.filter((rule) => rule.limit === "budget" && rule.id === budget.id).map((rule) => `${rule.subject} ${rule.value}`) }, budget.id)) }) }),
          quotas.length > 0 && a4(Card, { title: "Quotas", children: a4(
            Table,
            {
              label: "Quotas",
              rows: quotas,
              keyOf: (row) => row.id,
              chosen: param("id"),
              columns: [
                { id: "id", label: "Quota", cell: (row) => a4("a", { class: "strong", href: here({ id: row.id }), children: row.id }) },
                {
                  id: "running",
                  label: "Running",
                  cell: (row) => row.max_concurrent === null ? a4("span", { class: "num", children: count(row.running) }) : a4(Share, { value: row.running, most: row.max_concurrent, label: "running" })
                },
                {
                  id: "window",
                  label: "Started in the window",
                  drop: "narrow",
                  cell: (row) => row.max_per_window === null ? a4("span", { class: "faint", children: "no limit" }) : a4(Share, { value: row.in_window, most: row.max_per_window, label: `in ${span(row.window_ms ?? 0)}` })
                },
                { id: "waiting", label: "Waiting", kind: "num", drop: "narrow", cell: (row) => a4("a", { href: to(["runs"], { state: "rate_limited" }), children: count(row.waiting) }) },
                { id: "frees", label: "Frees", kind: "num", drop: "narrow", cell: (row) => a4(Time, { at: row.frees_at }) },
                { id: "rules", label: "For", drop: "medium", cell: (row) => rules.filter((rule) => rule.limit === "quota" && rule.id === row.id).map((rule) => `${rule.subject} ${rule.value}`).join(", ") },
                { id: "tenant", label: "Tenant", drop: "medium", cell: (row) => row.tenant },
                { id: "act", label: "Actions", kind: "actions", cell: (row) => a4(Button, { action: setQuota(row), tone: "slim" }) }
              ]
            }
          ) })
        ] })
      }
    )
  ] });
}
function Share({ value, most, label }) {
  return a4("span", { class: "pair", children: [
    a4(Meter, { value, most, tone: value >= most ? "warn" : "accent", label: `${value} of ${most} ${label}` }),
    a4("span", { class: "num", children: [
      count(value),
      " / ",
      count(most)
    ] })
  ] });
}
function Budget({ budget, subjects }) {
  return a4("li", { class: param("id") === budget.id ? "chosen-line" : "", children: [
    a4("div", { class: "stack-s", children: [
      a4("span", { class: "line-main", children: [
        a4("b", { children: budget.id }),
        a4("span", { class: "faint small", children: [
          budget.tenant,
          budget.parent ? `, part of ${budget.parent}` : "",
          ", at the limit: ",
          budget.on_hard,
          subjects.length ? `, for ${subjects.join(", ")}` : ""
        ] }),
        budget.waiting > 0 && a4("span", { class: "tone-warn toned", children: [
          count(budget.waiting),
          " waiting"
        ] })
      ] }),
      a4(Spend, { budget })
    ] }),
    a4("span", { class: "line-end", children: [
      budget.breaches.hard > 0 && a4("span", { class: "tone-danger toned", children: [
        count(budget.breaches.hard),
        " refused"
      ] }),
      budget.next_reset_at && a4("span", { children: [
        "resets ",
        a4(Time, { at: budget.next_reset_at })
      ] }),
      a4("span", { class: "buttons", children: [
        a4(Button, { action: grant(budget), tone: "slim" }),
        a4(Button, { action: reset(budget), tone: "slim" })
      ] })
    ] })
  ] });
}
function reset(budget) {
  return {
    title: `Reset ${budget.id}`,
    verb: "Reset",
    icon: "retry",
    about: "What was used counts as nothing from now on.",
    target: "POST /v1/budgets/{id}/reset",
    path: { id: budget.id },
    query: { tenant: budget.tenant },
    cli: () => `budgets reset ${quoted(budget.id)}`,
    role: "operator",
    isDangerous: true,
    done: () => `${budget.id} starts again.`
  };
}
function setQuota(quota) {
  const numbers = ({ max_concurrent, max_per_window, window_ms }) => ({
    ...max_concurrent ? { max_concurrent: Number(max_concurrent) } : {},
    ...max_per_window ? { max_per_window: Number(max_per_window), window_ms: Number(window_ms) } : {}
  });
  return {
    title: `Change quota ${quota.id}`,
    verb: "Change",
    icon: "edit",
    target: "PUT /v1/quotas/{id}",
    path: { id: quota.id },
    query: { tenant: quota.tenant },
    fields: [
      { name: "max_concurrent", label: "Running at once, at most", kind: "number", initial: String(quota.max_concurrent ?? "") },
      { name: "max_per_window", label: "Starts in a window, at most", kind: "number", initial: String(quota.max_per_window ?? "") },
      { name: "window_ms", label: "Window in ms", kind: "number", initial: String(quota.window_ms ?? "") }
    ],
    body: numbers,
    cli: ({ max_concurrent, max_per_window, window_ms }) => `quotas set ${quoted(quota.id)}${option("max-concurrent", max_concurrent)}${option("max-per-window", max_per_window)}${window_ms ? ` --window ${span(Number(window_ms)).replaceAll(" ", "")}` : ""}`,
    role: "operator",
    done: () => `Quota ${quota.id} is changed.`
  };
}

// console/pages/login.tsx
function Login() {
  const [problem, setProblem] = d2("");
  const [isBusy, setBusy] = d2(false);
  const submit = async (event) => {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget).get("key") ?? "").trim();
    setBusy(true);
    try {
      await logIn(key);
    } catch (error) {
      setProblem(error instanceof Problem ? error.message : String(error));
    }
    setBusy(false);
  };
  return a4("main", { class: "login", children: a4("form", { onSubmit: submit, noValidate: true, children: [
    a4("svg", { viewBox: "0 0 24 24", "aria-hidden": "true", class: "mark", children: a4("path", { d: "M12 2.500v6M12 15.500v6M5 7.500c0 5 14 4 14 9M19 7.500c0 5-14 4-14 9" }) }),
    a4("h1", { children: "Holdfast" }),
    a4("p", { class: "about", children: "Log in with an API key. The browser keeps a session of 12 hours and never the key." }),
    a4("label", { class: "field", children: [
      a4("span", { children: "API key" }),
      a4("input", { name: "key", type: "password", autocomplete: "off", autofocus: true, required: true, "aria-invalid": problem ? "true" : void 0, "aria-describedby": problem ? "login-problem" : void 0 })
    ] }),
    problem && a4("p", { class: "problem", id: "login-problem", role: "alert", children: problem }),
    a4("button", { type: "submit", class: "button primary wide", disabled: isBusy, children: [
      a4(Icon, { name: "key" }),
      " Log in"
    ] }),
    a4("p", { class: "hint", children: [
      "An administrator makes one with ",
      a4("code", { children: "holdfast keys create --role operator" }),
      "."
    ] })
  ] }) });
}

// console/pages/new.tsx
function NewRun() {
  const tasks = useLoad((signal) => call("GET /v1/tasks", { query: { tenant: scope.value }, signal }), [scope.value]);
  return a4($, { children: [
    a4(Head, { up: { label: "Runs", page: "runs" }, title: "New run" }),
    a4(
      Show,
      {
        of: tasks,
        empty: (data) => data.items.length ? null : a4(Empty, { icon: "runs", title: "No worker has published a task", command: "holdfast worker app:app", children: "A task appears here when a worker that runs it has started once." }),
        children: (data) => a4(Submit, { tasks: data.items.map((item) => item) })
      }
    )
  ] });
}
function Submit({ tasks }) {
  const task = tasks.find((one) => one.name === param("kind")) ?? tasks[0];
  const schema = task.input;
  const hasFields = !!schema && Object.keys(schema.properties ?? {}).length > 0;
  const isJson = !hasFields || param("as") === "json";
  const [text, setText] = d2("");
  const [problem, setProblem] = d2(null);
  const submit = async (input) => {
    if (input.trim() && !parse(input)) return setProblem(new Problem(0, "not_json", "The input is not JSON.", ""));
    const body = `{"kind":${JSON.stringify(task.name)}${scope.value ? `,"tenant":${JSON.stringify(scope.value)}` : ""}${input.trim() ? `,"input":${input}` : ""}}`;
    try {
      const response = await send("POST", addressOf("POST /v1/executions"), body);
      const { id } = await response.json();
      tell(`Submitted ${task.name}.`, "good");
      go(to(["runs", id]));
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, "page_failed", String(error), ""));
    }
  };
  const command = `holdfast submit ${quoted(task.name)}${option("input", isJson ? text : "…")}`;
  return a4("div", { class: "run-grid", children: [
    a4(Card, { title: "Input", children: a4("div", { class: "pad stack answer", children: [
      a4("label", { class: "field", children: [
        a4("span", { children: "Task" }),
        a4("select", { value: task.name, onChange: (event) => go(here({ kind: event.currentTarget.value }), { replace: true }), children: tasks.map((one) => a4("option", { children: one.name }, one.name)) }),
        task.description && a4("p", { class: "hint", children: task.description })
      ] }),
      hasFields && a4(Tabs, { name: "as", tabs: [{ id: "form", label: "Form" }, { id: "json", label: "JSON" }] }),
      isJson ? a4($, { children: [
        a4("label", { class: "field", children: [
          a4("span", { children: "Input in JSON" }),
          a4("textarea", { class: "mono", rows: 10, value: text, spellcheck: false, onInput: (event) => setText(event.currentTarget.value) })
        ] }),
        a4("div", { class: "buttons", children: a4("button", { type: "button", class: "button primary", disabled: !may("submitter") && !may("operator"), onClick: () => void submit(text), children: "Submit" }) })
      ] }) : a4(Form, { schema, verb: "Submit", isAllowed: may("submitter") || may("operator"), problem, send: (data) => void submit(JSON.stringify(data)) }, task.name),
      a4(Refused, { problem }),
      a4(Commands, { texts: [command] })
    ] }) }),
    a4(Card, { title: "What the task says", children: a4("div", { class: "pad", children: a4(Value, { value: task }) }) })
  ] });
}

// console/lib/history.ts
var EVERY_MS = 15e3;
function useHistory(subject) {
  const tenant2 = scope.value ?? "*";
  const found = useLoad((signal) => call("GET /v1/history", { query: { tenant: tenant2, subject, points: 60 }, signal }), [tenant2, subject], { every: EVERY_MS });
  return found.data?.items ?? [];
}
function sumOf(histories, ...figures2) {
  const columns = histories.flatMap((history2) => figures2.map((figure) => history2.figures[figure] ?? []));
  return columns[0]?.map((_4, at) => columns.reduce((sum, column) => sum + (column[at] ?? 0), 0));
}

// console/pages/overview.tsx
var DAY_MS2 = 864e5;
var OPEN = RUN_STATES.slice(0, 6);
async function read3(signal) {
  const tenant2 = scope.value;
  const since = new Date(Date.now() - DAY_MS2).toISOString();
  const [counts, snapshot, doctor, causes, stuck] = await Promise.all([
    call("GET /v1/counts", { query: { tenant: tenant2 }, signal }),
    soft(call("GET /v1/snapshot", { signal })),
    soft(call("GET /v1/doctor", { signal })),
    soft(call("GET /v1/executions:causes", { query: { tenant: tenant2, since, limit: 5 }, signal })),
    soft(call("GET /v1/executions", { query: { tenant: tenant2, state: "waiting,rate_limited,waiting_children", order: "oldest", limit: 5, why: true }, signal }))
  ]);
  const facts = {
    counts: {},
    kinds: /* @__PURE__ */ new Map(),
    snapshot,
    findings: doctor?.findings ?? [],
    causes: causes?.items ?? [],
    stuck: stuck?.items ?? []
  };
  for (const row of counts.items) {
    facts.counts[row.state] = (facts.counts[row.state] ?? 0) + row.count;
    const states = facts.kinds.get(row.kind) ?? {};
    states[row.state] = (states[row.state] ?? 0) + row.count;
    facts.kinds.set(row.kind, states);
  }
  return facts;
}
function Overview() {
  const facts = useLoad(read3, [scope.value], { when: of("execution", "queue", "worker", "waitpoint"), every: 15e3 });
  return a4($, { children: [
    a4(Head, { title: "Overview" }),
    a4(Show, { of: facts, children: (data) => a4(Found3, { facts: data }) })
  ] });
}
function Found3({ facts }) {
  const whole = Object.values(facts.counts).reduce((sum, value) => sum + value, 0);
  return a4($, { children: [
    a4(Verdict, { facts }),
    !whole && a4(FirstRun, {}),
    a4(Tiles, { facts }),
    a4("div", { class: "columns", children: [
      a4("div", { class: "column", children: [
        a4(Failing, { causes: facts.causes }),
        a4(Kinds, { kinds: facts.kinds })
      ] }),
      a4("div", { class: "column", children: [
        a4(Longest, { rows: facts.stuck }),
        facts.snapshot && a4(Lanes, { snapshot: facts.snapshot }),
        facts.snapshot && a4(Queues, { snapshot: facts.snapshot })
      ] })
    ] })
  ] });
}
function Verdict({ facts }) {
  const bad = facts.findings.filter((finding) => finding.level !== "ok");
  const isWrong = bad.some((finding) => finding.level === "error");
  const tone = isWrong ? "danger" : bad.length ? "warn" : "good";
  const words2 = bad.length ? `${plural(bad.length, "thing")} ${bad.length === 1 ? "needs" : "need"} a look` : "Everything works";
  return a4("section", { class: `verdict tone-${tone}`, "aria-label": "Health", children: [
    a4("div", { class: "verdict-line", children: [
      a4(Icon, { name: bad.length ? "cause" : "check" }),
      a4("h2", { children: words2 }),
      !bad.length && facts.findings.length > 0 && a4("span", { class: "faint", children: [
        plural(facts.findings.length, "check"),
        " passed"
      ] })
    ] }),
    bad.length > 0 && a4("ul", { children: bad.map((finding) => a4("li", { children: [
      a4(State, { name: finding.level, word: finding.check.replaceAll("_", " ") }),
      a4("span", { children: a4(Marked, { text: finding.text }) }),
      finding.fix && a4("span", { class: "faint", children: a4(Marked, { text: finding.fix }) })
    ] }, finding.check + finding.text)) })
  ] });
}
function FirstRun() {
  return a4(Card, { title: "Nothing has run yet", children: a4("div", { class: "pad stack", children: [
    a4("p", { class: "about", children: "Submit something; it appears here at once. Without a worker it waits, and its page says so." }),
    a4(Command, { text: `holdfast submit hello --input '{"name": "Ann"}'` }),
    a4(Command, { text: "holdfast worker app:app" })
  ] }) });
}
function Tiles({ facts }) {
  const { counts, snapshot } = facts;
  const lanes = useHistory("lane");
  const oldest = snapshot?.oldest_waiting;
  const workers = snapshot?.workers ?? [];
  const busy = workers.reduce((total, worker) => total + worker.busy, 0);
  const slots = workers.reduce((total, worker) => total + worker.slots, 0);
  return a4("div", { class: "tiles", children: [
    a4(Tile, { icon: "play", label: "Running", history: sumOf(lanes, "active"), value: counts.active ?? 0, href: to(["runs"], { state: "active" }), note: slots ? `${count(busy)} of ${count(slots)} slots busy` : "no worker" }),
    a4(
      Tile,
      {
        icon: "clock",
        label: "Waiting for a worker",
        history: sumOf(lanes, "waiting"),
        value: counts.waiting ?? 0,
        href: to(["runs"], { state: "waiting" }),
        note: oldest ? `oldest since ${span(now.value - Date.parse(oldest.created_at))}` : "nothing waits"
      }
    ),
    a4(Tile, { icon: "inbox", label: "Waiting for people", history: sumOf(lanes, "held"), value: inboxCount.value, href: to(["inbox"]), note: `${count(counts.suspended ?? 0)} suspended in all` }),
    a4(Tile, { icon: "cause", label: "Failed", tone: "danger", history: sumOf(lanes, "failed"), value: (counts.failed ?? 0) + (counts.expired ?? 0), href: to(["runs"], { state: "failed,expired" }), note: `${count(facts.causes.reduce((total, cause) => total + cause.count, 0))} in the last day` })
  ] });
}
function Tile({ icon, label, value, href, note, history: history2, tone = "accent" }) {
  return a4("a", { class: "tile", href, children: [
    a4("span", { class: "tile-label", children: [
      a4(Icon, { name: icon }),
      " ",
      label
    ] }),
    a4("b", { class: value && tone === "danger" ? "tone-danger toned" : "", children: brief(value) }),
    a4(Sparkline, { values: history2, label, tone }),
    a4("span", { class: "faint small", children: note })
  ] });
}
function Failing({ causes }) {
  return a4(
    Card,
    {
      title: "Failing most, last 24 hours",
      extra: a4("a", { class: "link", href: to(["causes"]), children: "All failures" }),
      children: causes.length ? a4("ul", { class: "lines", children: causes.map((cause) => a4("li", { children: [
        a4("a", { class: "line", href: to(["runs"], { state: "failed,expired", kind: cause.kind, error_type: cause.error_type }), children: [
          a4("span", { class: "line-main", children: [
            a4("b", { children: cause.kind }),
            " ",
            a4("span", { class: "tone-danger toned", children: cause.error_type })
          ] }),
          a4("span", { class: "line-sub clip", children: cause.place })
        ] }),
        a4("span", { class: "line-end", children: [
          a4("b", { class: "num", children: count(cause.count) }),
          a4(Time, { at: cause.last_at })
        ] })
      ] }, `${cause.kind} ${cause.error_type} ${cause.place}`)) }) : a4("p", { class: "pad faint", children: "Nothing failed in the last day." })
    }
  );
}
function Kinds({ kinds }) {
  const rows = [...kinds].map(([kind, states]) => ({ kind, states, sum: Object.values(states).reduce((total, value) => total + value, 0) }));
  rows.sort((one, other) => other.sum - one.sum);
  return a4(Card, { title: "Tasks", children: rows.length ? a4("ul", { class: "lines", children: rows.slice(0, 8).map(({ kind, states, sum }) => a4("li", { children: [
    a4("a", { class: "line", href: to(["runs"], { kind }), children: [
      a4("span", { class: "line-main clip", children: kind }),
      a4(StateBar, { counts: states })
    ] }),
    a4("span", { class: "line-end", children: [
      a4("b", { class: "num", children: count(sum) }),
      (states.failed ?? 0) > 0 ? a4("span", { class: "tone-danger toned", children: plural(states.failed, "failure") }) : a4("span", { class: "faint", children: "no failure" })
    ] })
  ] }, kind)) }) : a4("p", { class: "pad faint", children: "No task has run yet." }) });
}
function Longest({ rows }) {
  return a4(Card, { title: "Waiting longest", children: rows.length ? a4("ul", { class: "lines", children: rows.map((row) => a4("li", { children: [
    a4("div", { class: "line", children: [
      a4("span", { class: "line-main", children: [
        a4(State, { name: row.state }),
        " ",
        a4("a", { href: to(["runs", row.id]), children: row.kind }),
        " ",
        a4(Id, { id: row.id, most: 14, href: pageOf("execution", row.id) })
      ] }),
      a4("span", { class: "line-sub", children: row.why })
    ] }),
    a4("span", { class: "line-end", children: a4("b", { class: "num", children: ago(row.created_at).replace(" ago", "") }) })
  ] }, row.id)) }) : a4("p", { class: "pad faint", children: "Nothing waits." }) });
}
function Lanes({ snapshot }) {
  return a4(
    Card,
    {
      title: "Lanes",
      extra: a4("a", { class: "link", href: to(["workers"]), children: "Workers and lanes" }),
      children: a4("ul", { class: "lines", children: snapshot.lanes.slice(0, 6).map((lane) => {
        const open = OPEN.map((state) => [state, lane.counts[state] ?? 0]).filter(([, value]) => value);
        return a4("li", { children: a4("div", { class: "line", children: [
          a4("span", { class: "line-main clip", children: lane.lane }),
          a4("span", { class: "line-sub", children: open.length ? open.map(([state, value]) => `${count(value)} ${state.replaceAll("_", " ")}`).join(", ") : "idle" })
        ] }) }, lane.lane);
      }) })
    }
  );
}
function Queues({ snapshot }) {
  const rows = snapshot.queues.filter((queue) => queue.ready || queue.dead || queue.in_flight || queue.paused);
  if (!rows.length) return null;
  return a4(
    Card,
    {
      title: "Queues",
      extra: a4("a", { class: "link", href: to(["queues"]), children: "All queues" }),
      children: a4("ul", { class: "lines", children: rows.slice(0, 6).map((queue) => a4("li", { children: [
        a4("a", { class: "line", href: to(["queues", queue.name]), children: [
          a4("span", { class: "line-main clip", children: middle(queue.name, 40) }),
          a4("span", { class: "line-sub", children: [
            count(queue.ready),
            " ready, ",
            count(queue.in_flight),
            " in flight"
          ] })
        ] }),
        a4("span", { class: "line-end", children: queue.dead > 0 && a4("span", { class: "tone-danger toned", children: plural(queue.dead, "dead letter") }) })
      ] }, queue.name)) })
    }
  );
}

// console/pages/queues.tsx
function figures(stats) {
  const groups = Object.values(stats?.groups ?? {});
  const sum = (field) => stats?.[field] ?? groups.reduce((total, group2) => total + group2[field], 0);
  return { ready: sum("ready"), delayed: sum("delayed"), in_flight: sum("in_flight"), dead: sum("dead") };
}
function Queues2() {
  const rows = useLoad(
    async (signal) => {
      const queues = await all((cursor) => call("GET /v1/queues", { query: { tenant: scope.value, limit: 200, ...cursor ? { cursor } : {} }, signal }), 200);
      return Promise.all(
        queues.map(async (queue) => ({
          queue,
          stats: await soft(call("GET /v1/queues/{name}/stats", { path: { name: queue.name }, query: { tenant: queue.tenant }, signal }))
        }))
      );
    },
    [scope.value],
    { when: of("queue") }
  );
  const history2 = useHistory("queue");
  const depth = ({ tenant: tenant2, name }) => sumOf(history2.filter((row) => row.tenant === tenant2 && row.name === name), "ready", "in_flight");
  return a4($, { children: [
    a4(Head, { title: "Queues", sub: "Messages between programs: work queues, where one consumer gets each message, and fan-out queues, where every group does." }),
    a4(
      Show,
      {
        of: rows,
        empty: (data) => data.length ? null : a4(Empty, { icon: "queue", title: "There is no queue", command: "holdfast queues define orders --dead-letter orders-dead", children: "A queue takes messages and hands each to a consumer until it is acknowledged." }),
        children: (data) => a4(Card, { children: a4(
          Table,
          {
            label: "Queues",
            rows: data,
            keyOf: (row) => `${row.queue.tenant} ${row.queue.name}`,
            href: (row) => to(["queues", row.queue.name]),
            columns: [
              {
                id: "name",
                label: "Queue",
                cell: ({ queue }) => a4("a", { class: "strong", href: to(["queues", queue.name], queue.tenant === "default" ? {} : { tenant: queue.tenant }), children: queue.name })
              },
              { id: "mode", label: "Mode", drop: "narrow", cell: ({ queue }) => queue.takes_dead_letters ? a4(Tag, { tone: "danger", children: "dead letters" }) : queue.mode },
              { id: "state", label: "State", drop: "narrow", cell: ({ queue }) => a4(State, { name: queue.paused ? "paused" : "ready", word: queue.paused ? "Paused" : "Open" }) },
              { id: "ready", label: "Ready", kind: "num", cell: ({ stats }) => count(figures(stats).ready) },
              { id: "flight", label: "In flight", kind: "num", cell: ({ stats }) => count(figures(stats).in_flight) },
              { id: "delayed", label: "Delayed", kind: "num", drop: "medium", cell: ({ stats }) => count(figures(stats).delayed) },
              { id: "dead", label: "Dead", kind: "num", cell: ({ stats }) => a4("span", { class: figures(stats).dead ? "tone-danger toned" : "", children: count(figures(stats).dead) }) },
              { id: "hour", label: "Last hour", drop: "medium", width: "14%", cell: ({ queue }) => a4(Sparkline, { values: depth(queue), label: "Messages" }) },
              { id: "pushed", label: "Pushed", kind: "num", drop: "medium", cell: ({ stats }) => count(stats?.pushed ?? 0) },
              { id: "tenant", label: "Tenant", drop: "medium", cell: ({ queue }) => queue.tenant },
              { id: "act", label: "Actions", kind: "actions", cell: ({ queue }) => a4(Button, { action: pauseAction(queue), tone: "slim", hideLabel: true }) }
            ]
          }
        ) })
      }
    )
  ] });
}
function pauseAction(queue) {
  const verb = queue.paused ? "resume" : "pause";
  return {
    title: `${queue.paused ? "Resume" : "Pause"} queue ${queue.name}`,
    verb: queue.paused ? "Resume" : "Pause",
    icon: queue.paused ? "play" : "pause",
    about: queue.paused ? "Consumers get messages again." : "Producers can push; consumers get nothing until it is resumed.",
    target: queue.paused ? "POST /v1/queues/{name}/resume" : "POST /v1/queues/{name}/pause",
    path: { name: queue.name },
    query: { tenant: queue.tenant },
    cli: () => `queues ${verb} ${quoted(queue.name)}`,
    role: "operator",
    done: () => `Queue ${queue.name} is ${queue.paused ? "open again" : "paused"}.`
  };
}

// console/pages/queue.tsx
function Queue({ name }) {
  const path = { name };
  const query2 = { tenant: scope.value };
  const facts = useLoad(
    async (signal) => {
      const [queue, stats] = await Promise.all([call("GET /v1/queues/{name}", { path, query: query2, signal }), call("GET /v1/queues/{name}/stats", { path, query: query2, signal })]);
      const group2 = queue.mode === "fanout" ? param("group") || queue.groups[0] : void 0;
      const about = { ...query2, ...group2 ? { group: group2 } : {} };
      const [pending, messages] = await Promise.all([
        call("GET /v1/queues/{name}/pending", { path, query: { ...about, limit: 100 }, signal }),
        call("GET /v1/queues/{name}/peek", { path, query: { ...about, count: 100 }, signal })
      ]);
      return { queue, stats, pending: pending.items, messages: messages.items };
    },
    [name, scope.value, param("group")],
    { when: of("queue") }
  );
  A2(() => seen(`Queue ${name}`, to(["queues", name])), [name]);
  return a4(Show, { of: facts, children: (data) => a4(Found4, { facts: data }) });
}
function Found4({ facts: { queue, stats, pending, messages } }) {
  const numbers = figures(stats);
  return a4($, { children: [
    a4(Head, { up: { label: "Queues", page: "queues" }, title: queue.name, sub: a4(State, { name: queue.paused ? "paused" : "ready", word: queue.paused ? "Paused" : "Open" }), children: [
      a4(Button, { action: pauseAction(queue) }),
      queue.takes_dead_letters && a4(Button, { action: redrive(queue, null) }),
      a4(Button, { action: purge(queue, numbers.ready + numbers.delayed) })
    ] }),
    a4("div", { class: "run-grid", children: [
      a4(Card, { children: [
        a4("div", { class: "tabs-pad", children: a4(
          Tabs,
          {
            tabs: [
              ...queue.takes_dead_letters ? [{ id: "causes", label: "Causes" }] : [],
              { id: "ready", label: "Next messages", count: messages.length },
              { id: "flight", label: "In flight", count: pending.length }
            ]
          }
        ) }),
        a4(Part, { queue, pending, messages })
      ] }),
      a4("div", { class: "column", children: [
        a4(Card, { title: "Figures", children: a4("div", { class: "pad", children: a4(Facts, { rows: ["ready", "delayed", "in_flight", "dead"].map((field) => [phrase(field), count(numbers[field])]).concat([["Pushed", count(stats.pushed)], ["Acknowledged", count(stats.acked ?? 0)], ["Expired", count(stats.expired)], ["Purged", count(stats.purged)]]) }) }) }),
        a4(Card, { title: "Settings", children: a4("div", { class: "pad", children: a4(
          Facts,
          {
            rows: [
              ["Tenant", queue.tenant],
              ["Mode", queue.mode],
              ["Attempts", queue.max_attempts],
              ["Lock", span(queue.lock_ms)],
              queue.dead_letter !== null && ["Dead letters to", a4("a", { class: "link", href: to(["queues", queue.dead_letter]), children: queue.dead_letter })],
              queue.max_size !== null && ["At most", count(queue.max_size)],
              queue.ttl_ms !== null && ["Kept for", span(queue.ttl_ms)],
              ["Deduplicated for", span(queue.dedup_window_ms)],
              queue.groups.length > 0 && ["Groups", queue.groups.join(", ")],
              ["Created", a4(Time, { at: queue.created_at })]
            ]
          }
        ) }) })
      ] })
    ] })
  ] });
}
function Part({ queue, pending, messages }) {
  const tab = param("tab") || (queue.takes_dead_letters ? "causes" : "ready");
  if (tab === "flight")
    return pending.length ? a4(
      Table,
      {
        label: "In flight",
        rows: pending,
        keyOf: (row) => `${row.id} ${row.consumer}`,
        columns: [
          { id: "id", label: "Message", kind: "id", cell: (row) => a4(Id, { id: row.id }) },
          { id: "consumer", label: "Consumer", cell: (row) => row.consumer },
          { id: "attempt", label: "Attempt", kind: "num", cell: (row) => row.attempt },
          { id: "since", label: "Since", cell: (row) => a4(Time, { at: row.since }) },
          { id: "deadline", label: "Back in the queue", cell: (row) => a4(Time, { at: row.deadline }) }
        ]
      }
    ) : a4("p", { class: "pad faint", children: "No consumer holds a message." });
  if (tab === "causes" && queue.takes_dead_letters) return a4(Causes2, { queue, messages });
  if (!messages.length) return a4("p", { class: "pad faint", children: "No message is ready." });
  return a4("ul", { class: "lines", children: messages.map((message) => a4("li", { children: [
    a4("div", { class: "stack-s", children: [
      a4("span", { class: "line-main", children: [
        a4(Id, { id: message.id, copy: true }),
        message.key && a4("span", { class: "faint", children: [
          "key ",
          message.key
        ] }),
        message.dead_letter && a4("span", { class: "tone-danger toned", children: message.dead_letter.reason })
      ] }),
      seesPayloads() ? a4(Value, { value: message.payload }) : a4("span", { class: "faint", children: "hidden" })
    ] }),
    a4("span", { class: "line-end", children: [
      a4(Time, { at: message.enqueued_at }),
      a4("span", { children: [
        "attempt ",
        message.attempt
      ] }),
      message.dead_letter && seesPayloads() && !message.payload_base64 && a4(Button, { action: correct(queue, message, message.dead_letter.origin), tone: "slim" })
    ] })
  ] }, message.id)) });
}
function Causes2({ queue, messages }) {
  const groups = /* @__PURE__ */ new Map();
  for (const message of messages) {
    const key = `${message.dead_letter?.origin ?? ""}
${message.dead_letter?.reason ?? "unknown"}`;
    groups.set(key, [...groups.get(key) ?? [], message]);
  }
  if (!groups.size) return a4("p", { class: "pad faint", children: "There is no dead letter." });
  return a4("ul", { class: "lines", children: [...groups].map(([key, letters]) => {
    const [origin, reason] = key.split("\n");
    return a4("li", { children: [
      a4("div", { class: "line", children: [
        a4("span", { class: "line-main", children: reason || "no reason given" }),
        a4("span", { class: "line-sub", children: [
          "from ",
          origin,
          ", last ",
          a4(Time, { at: letters[0].dead_letter?.last_at })
        ] })
      ] }),
      a4("b", { class: "num", children: count(letters.length) }),
      a4(Button, { action: redrive(queue, { origin, reason }), tone: "slim" })
    ] }, key);
  }) });
}
function redrive(queue, filter) {
  return {
    title: filter ? `Send back letters: ${filter.reason}` : `Send all letters of ${queue.name} back`,
    verb: "Send back",
    icon: "retry",
    about: "Each message returns to the queue that it came from; its attempts start again.",
    target: "POST /v1/queues/{name}/redrive",
    path: { name: queue.name },
    query: { tenant: queue.tenant },
    fields: [
      { name: "limit", label: "At most", kind: "number", initial: "1000" },
      { name: "rate", label: "Per second", kind: "number", hint: "Empty: as fast as possible." }
    ],
    body: ({ limit, rate }) => ({ ...filter ? { filter: { ...filter.origin ? { origin: filter.origin } : {}, reason: filter.reason } } : {}, ...limit ? { limit: Number(limit) } : {}, ...rate ? { rate_per_s: Number(rate) } : {} }),
    cli: ({ limit, rate }) => `queues redrive ${quoted(queue.name)}${option("limit", limit)}${option("rate", rate)}${option("origin", filter?.origin)}${option("reason", filter?.reason)}`,
    role: "operator",
    done: (reply2) => `${count(reply2.redriven)} sent back.`
  };
}
function correct(queue, message, origin) {
  return {
    title: `Correct letter ${message.id}`,
    verb: "Edit and send",
    icon: "edit",
    about: `A corrected copy goes to ${origin}. The letter stays here until it is sent back or purged.`,
    target: "POST /v1/queues/{name}/messages",
    path: { name: origin },
    query: { tenant: queue.tenant },
    fields: [{ name: "payload", label: "Payload", kind: "json", initial: JSON.stringify(message.payload, null, 2), hint: "Numbers of more than 15 digits are rounded here: type them again." }],
    body: ({ payload: payload2 }) => `{"items":[{"payload":${payload2 || "null"},"key":${JSON.stringify(message.key)}}]}`,
    cli: ({ payload: payload2 }) => `queues push ${quoted(origin)} ${quoted(payload2 || "null")}${option("key", message.key ?? "")}`,
    role: "submitter",
    done: () => `A corrected copy is in ${origin}.`
  };
}
function purge(queue, size) {
  return {
    title: `Purge queue ${queue.name}`,
    verb: "Purge",
    icon: "trash",
    about: `${count(size)} messages that are not in flight are deleted. This cannot be undone.`,
    target: "POST /v1/queues/{name}/purge",
    path: { name: queue.name },
    query: { tenant: queue.tenant },
    cli: () => `queues purge ${quoted(queue.name)}`,
    role: "operator",
    isDangerous: true,
    typed: queue.name,
    done: (reply2) => `${count(reply2.purged)} deleted.`
  };
}

// console/lib/run_actions.ts
var ENDED2 = /* @__PURE__ */ new Set(["completed", "failed", "cancelled", "expired", "skipped"]);
function runActions(run2, steps, input) {
  const path = { id: run2.id };
  const id = quoted(run2.id);
  const actions = [];
  if (!ENDED2.has(run2.state))
    actions.push({
      title: `Cancel run ${run2.id}`,
      verb: "Cancel run",
      icon: "slash",
      about: run2.state === "active" ? `It ends at once. Worker ${run2.worker} learns it at its next call.` : "It ends at once and never runs again, unless it is replayed.",
      target: "POST /v1/executions/{id}/cancel",
      path,
      fields: [REASON],
      body: ({ reason }) => ({ reason }),
      cli: ({ reason }) => `cancel ${id}${option("reason", reason)}`,
      role: "operator",
      isDangerous: true,
      done: () => `Cancelled ${run2.kind}.`
    });
  if (run2.state === "suspended")
    actions.push({
      title: `Resume run ${run2.id}`,
      verb: "Resume",
      icon: "play",
      about: "It continues as if its wait were over; the payload is what it gets as the answer.",
      target: "POST /v1/executions/{id}/resume",
      path,
      fields: [{ name: "payload", label: "Payload", kind: "json", hint: "JSON, or empty." }],
      body: ({ payload: payload2 }) => payload2?.trim() ? `{"payload":${payload2}}` : {},
      cli: ({ payload: payload2 }) => `resume ${id}${option("payload", payload2)}`,
      role: "operator"
    });
  if (ENDED2.has(run2.state)) {
    const names = steps.map((step) => step.name);
    actions.push({
      title: `Replay run ${run2.id}`,
      verb: "Replay",
      icon: "retry",
      about: "The same run starts again with the same input. Recorded steps are dropped, unless you keep some.",
      target: "POST /v1/executions/{id}/replay",
      path,
      fields: [...names.length ? [{ name: "from", label: "Steps", kind: "select", options: ["drop all", "keep all", ...names.map((name) => `from ${name}`)], hint: "From a step: that one and later ones run again." }] : [], REASON],
      body: ({ from: from2, reason }) => ({ reason, ...from2 === "keep all" ? { keep_steps: true } : from2?.startsWith("from ") ? { from_step: from2.slice(5) } : {} }),
      cli: ({ from: from2, reason }) => `replay ${id}${from2 === "keep all" ? " --keep-steps" : from2?.startsWith("from ") ? option("from-step", from2.slice(5)) : ""}${option("reason", reason)}`,
      role: "operator",
      done: () => `${run2.kind} runs again.`
    });
  }
  actions.push({
    title: `Edit and resubmit ${run2.kind}`,
    verb: "Edit and resubmit",
    icon: "edit",
    about: "A new run with this input; it names this one as its origin.",
    target: "POST /v1/executions/{id}/resubmit",
    path,
    fields: [{ name: "input", label: "Input", kind: "json", initial: input }],
    body: ({ input: text }) => text?.trim() ? `{"input":${text}}` : {},
    cli: ({ input: text }) => `resubmit ${id}${option("input", text)}`,
    role: "submitter",
    done: () => "Submitted again.",
    after: (reply2) => go(to(["runs", reply2.id]))
  });
  if (run2.state === "active")
    actions.push({
      title: `Take run ${run2.id} from its worker`,
      verb: "Revoke lease",
      icon: "bolt",
      about: `Worker ${run2.worker} loses its lease, as if it had crashed. Another attempt continues after the last recorded step.`,
      target: "POST /v1/executions/{id}/revoke-lease",
      path,
      fields: [REASON],
      body: ({ reason }) => ({ reason }),
      cli: ({ reason }) => `revoke ${id}${option("reason", reason)}`,
      role: "operator",
      isDangerous: true,
      done: () => "The lease is revoked."
    });
  if (run2.state === "active" && me.value?.features.includes("crash"))
    actions.push({
      title: `Crash the worker of ${run2.id}`,
      verb: "Crash it",
      icon: "bolt",
      about: `The process of worker ${run2.worker} is killed (SIGKILL), and this server with it. holdfast dev starts it again, and the run continues after its last recorded step${steps.length ? `, ${steps.at(-1).name}` : ""}.`,
      target: "POST /v1/dev/executions/{id}/crash",
      path,
      cli: () => `show ${id} # after: kill -9 ${run2.worker?.split(".").at(-2) ?? "PID"}`,
      role: "operator",
      isDangerous: true,
      done: (reply2) => `Killed process ${reply2.pid}. The next worker has ${plural(reply2.steps, "recorded step")}.`
    });
  if (!ENDED2.has(run2.state))
    actions.push({
      title: `Set the priority of ${run2.id}`,
      verb: "Priority",
      icon: "up",
      about: "From -1000 to 1000. A point of priority is worth a minute of waiting.",
      target: "PUT /v1/executions/{id}/priority",
      path,
      fields: [{ name: "priority", label: "Priority", kind: "number", initial: String(run2.priority) }],
      body: ({ priority }) => ({ priority: Number(priority) }),
      cli: ({ priority }) => `prioritize ${id} ${priority}`,
      role: "operator"
    });
  return actions;
}

// console/parts/logs.tsx
var LEVELS = ["debug", "info", "warning", "error"];
function Logs({ id }) {
  const level = param("level");
  const logs = useLoad((signal) => call("GET /v1/executions/{id}/logs", { path: { id }, query: { tenant: scope.value, limit: 500, ...level ? { level } : {} }, signal }), [id, level], { when: (change) => change.data.execution === id, every: 5e3 });
  return a4($, { children: [
    a4("nav", { class: "strip", "aria-label": "Level", children: ["", ...LEVELS].map((one) => a4("a", { href: here({ level: one || null }), "aria-current": one === level ? "true" : void 0, children: one || "all" }, one)) }),
    a4(Show, { of: logs, rows: 4, empty: (data) => data.items.length ? null : a4("p", { class: "pad faint", children: [
      "Nothing was logged",
      level ? ` at level ${level}` : "",
      "."
    ] }), children: (data) => a4("ol", { class: "logs", children: data.items.map((line) => a4("li", { class: `log-${line.level.toLowerCase()}`, children: [
      a4("time", { datetime: line.at, title: exact(line.at), children: clock(line.at, true) }),
      a4("b", { children: line.level.toLowerCase() }),
      a4("span", { children: [
        line.message,
        Object.keys(line.fields).length > 0 && a4("span", { class: "faint", children: [
          " ",
          JSON.stringify(line.fields)
        ] }),
        line.traceback && a4("details", { children: [
          a4("summary", { children: "Traceback" }),
          a4("pre", { children: line.traceback })
        ] })
      ] })
    ] }, line.id)) }) })
  ] });
}
function Frames({ id }) {
  const frames = useLoad((signal) => call("GET /v1/executions/{id}/stream", { path: { id }, query: { tenant: scope.value, limit: 200 }, signal }), [id], { every: 3e3 });
  return a4(Show, { of: frames, rows: 4, empty: (data) => data.items.length ? null : a4("p", { class: "pad faint", children: "Nothing was streamed." }), children: (data) => a4("ol", { class: "logs", children: data.items.map((frame) => a4("li", { children: [
    a4("time", { datetime: frame.at, title: exact(frame.at), children: clock(frame.at, true) }),
    a4("b", { children: frame.type }),
    typeof frame.payload === "string" ? a4("span", { children: frame.payload }) : a4(Value, { value: frame.payload })
  ] }, frame.id)) }) });
}

// console/pages/run_parts.tsx
function Steps({ steps }) {
  if (!steps.length) return a4("p", { class: "pad faint", children: "No step was recorded. After a crash, a run continues after its last recorded step." });
  return a4("ol", { class: "steps", children: steps.map((step, at) => a4("li", { children: [
    a4("span", { class: "step-number", children: at + 1 }),
    a4("div", { class: "stack-s", children: [
      a4("span", { class: "step-head", children: [
        a4("b", { children: step.name }),
        " ",
        a4(Time, { at: step.at })
      ] }),
      step.result !== null && a4(Value, { value: step.result })
    ] })
  ] }, step.name)) });
}
function Attempts({ id }) {
  const attempts = useLoad((signal) => call("GET /v1/executions/{id}/attempts", { path: { id }, query: { tenant: scope.value, limit: 200 }, signal }), [id], { when: (change) => change.data.execution === id });
  return a4(Show, { of: attempts, rows: 3, empty: (data) => data.items.length ? null : a4("p", { class: "pad faint", children: "It has not been tried yet." }), children: (data) => a4(
    Table,
    {
      label: "Attempts",
      rows: data.items,
      keyOf: (row) => String(row.index),
      columns: [
        { id: "index", label: "#", kind: "num", cell: (row) => row.index },
        { id: "outcome", label: "Outcome", cell: (row) => a4(State, { name: row.outcome ?? "running" }) },
        { id: "kind", label: "Kind", cell: (row) => row.kind, drop: "narrow" },
        { id: "error", label: "Error", kind: "grow", cell: (row) => errorText(row.error) },
        { id: "worker", label: "Worker", cell: (row) => a4(Id, { id: row.worker, href: pageOf("worker", row.worker), most: 18 }), drop: "narrow" },
        { id: "started", label: "Started", cell: (row) => a4(Time, { at: row.started_at }), drop: "narrow" },
        { id: "took", label: "Took", kind: "num", cell: (row) => a4(Span, { from: row.started_at, until: row.ended_at }) }
      ]
    }
  ) });
}
function errorText(error) {
  const found = error;
  return found?.type ? `${found.type}: ${found.message}` : "";
}
function Waits({ id }) {
  const query2 = { tenant: scope.value };
  const waits = useLoad(
    async (signal) => {
      const [points, signals] = await Promise.all([call("GET /v1/executions/{id}/waitpoints", { path: { id }, query: query2, signal }), call("GET /v1/executions/{id}/signals", { path: { id }, query: query2, signal })]);
      return { points: points.items, signals: signals.items };
    },
    [id],
    { when: (change) => change.data.execution === id }
  );
  return a4(Show, { of: waits, rows: 3, empty: (data) => data.points.length || data.signals.length ? null : a4("p", { class: "pad faint", children: "It has not waited for an answer." }), children: (data) => a4($, { children: [
    a4("ul", { class: "lines", children: data.points.map((point) => a4("li", { children: [
      a4("div", { class: "line", children: [
        a4("span", { class: "line-main", children: [
          a4(State, { name: point.state }),
          " ",
          point.state === "open" ? a4("a", { href: to(["inbox"], { id: point.id }), children: point.title || point.name }) : point.title || point.name
        ] }),
        a4("span", { class: "line-sub", children: answerers(point.came.length ? point.came : data.signals.filter((one) => one.waitpoint === point.id && one.effect === "resumed").map(sender), point.state) })
      ] }),
      a4("span", { class: "line-end", children: point.until ? a4($, { children: [
        "until ",
        a4(Time, { at: point.until })
      ] }) : a4(Time, { at: point.created_at }) })
    ] }, point.id)) }),
    data.signals.length > 0 && a4("ol", { class: "steps", children: data.signals.map((signal, at) => a4("li", { children: [
      a4("span", { class: "step-number", children: at + 1 }),
      a4("div", { class: "stack-s", children: [
        a4("span", { class: "step-head", children: [
          a4("b", { children: signal.name }),
          " from ",
          sender(signal),
          ", ",
          signal.effect,
          " ",
          a4(Time, { at: signal.at })
        ] }),
        signal.payload !== null && a4(Value, { value: signal.payload })
      ] })
    ] }, at)) })
  ] }) });
}
function sender({ source }) {
  return source.identity || source.type || "unknown";
}
function answerers(names, state) {
  return names.length ? `answered by ${names.join(", ")}` : state === "open" ? "no answer yet" : "closed without an answer";
}
function Children({ id }) {
  const children = useLoad((signal) => call("GET /v1/executions", { query: { tenant: scope.value, parent: id, limit: 200 }, signal }), [id], { when: (change) => change.type === "execution" });
  return a4(Show, { of: children, rows: 3, empty: (data) => data.items.length ? null : a4("p", { class: "pad faint", children: "It has no children." }), children: (data) => a4(
    Table,
    {
      label: "Children",
      rows: data.items,
      keyOf: (row) => row.id,
      href: (row) => to(["runs", row.id]),
      columns: [
        { id: "state", label: "State", cell: (row) => a4(State, { name: row.state }) },
        { id: "kind", label: "Task", kind: "grow", cell: (row) => a4("a", { href: to(["runs", row.id]), children: row.kind }) },
        { id: "id", label: "Id", kind: "id", drop: "narrow", cell: (row) => a4(Id, { id: row.id, href: to(["runs", row.id]) }) },
        { id: "took", label: "Took", kind: "num", cell: (row) => a4(Span, { from: row.started_at ?? row.created_at, until: row.completed_at }) }
      ]
    }
  ) });
}
function History({ id }) {
  const history2 = useLoad((signal) => call("GET /v1/executions/{id}/history", { path: { id }, query: { tenant: scope.value, limit: 1e3 }, signal }), [id], { when: (change) => change.data.execution === id });
  return a4(Show, { of: history2, rows: 6, children: (data) => a4("ol", { class: "logs", children: data.items.map((event, place2) => {
    const { at, event: name, ...rest2 } = event;
    return a4("li", { children: [
      a4("time", { datetime: String(at), title: exact(String(at)), children: clock(String(at), true) }),
      a4("b", { children: phrase(String(name)) }),
      a4("span", { class: "faint", children: wordsOf2(rest2) })
    ] }, place2);
  }) }) });
}
function Compare({ run: run2 }) {
  const [other, attempt] = [param("other") || run2.origin || "", param("attempts")];
  const [first, second] = attempt.split("-");
  const query2 = { tenant: scope.value, ...attempt ? { attempt: Number(first), other_attempt: Number(second) } : { other } };
  const found = useLoad(async (signal) => other || attempt ? call("GET /v1/executions/{id}/diff", { path: { id: run2.id }, query: query2, signal }) : null, [run2.id, other, attempt]);
  const attempts = Array.from({ length: Math.max(0, Math.min(run2.attempts, 10) - 1) }, (_4, at) => `${at}-${at + 1}`);
  const choose = (event) => {
    event.preventDefault();
    go(here({ other: String(new FormData(event.currentTarget).get("other") ?? "").trim(), attempts: null }), { replace: true });
  };
  return a4($, { children: [
    a4("form", { class: "pad pair", onSubmit: choose, children: [
      a4("input", { name: "other", placeholder: "id of another run", "aria-label": "Other run", defaultValue: other, autocomplete: "off" }),
      a4("button", { type: "submit", class: "button slim", children: "Compare" }),
      attempts.map((pair) => a4("a", { class: "button slim", href: here({ attempts: pair, other: null }), "aria-current": pair === attempt ? "true" : void 0, children: [
        "Attempts ",
        pair.split("-").map((one) => Number(one) + 1).join(" and ")
      ] }, pair))
    ] }),
    found.data === null ? a4("p", { class: "pad faint", children: [
      "Before is this run, after is the other one: ",
      seesPayloads() ? "options, input, steps, result and error" : "options, steps and errors; payloads are hidden, and not compared",
      "."
    ] }) : a4(Differences, { of: found })
  ] });
}
function wordsOf2(fields) {
  return Object.entries(fields).filter(([, value]) => value !== null && value !== "").map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`).join(" · ");
}

// console/pages/run.tsx
function Run({ id }) {
  const query2 = { tenant: scope.value };
  const facts = useLoad(
    async (signal) => {
      const [run2, explain, timeline, steps] = await Promise.all([
        call("GET /v1/executions/{id}", { path: { id }, query: query2, signal }),
        call("GET /v1/executions/{id}/explain", { path: { id }, query: query2, signal }),
        soft(call("GET /v1/executions/{id}/timeline", { path: { id }, query: query2, signal })),
        soft(call("GET /v1/executions/{id}/steps", { path: { id }, query: { ...query2, limit: 500 }, signal }))
      ]);
      return { run: run2, explain, timeline, steps: steps?.items ?? [] };
    },
    [id, scope.value],
    { when: (change) => change.data.execution === id, every: 5e3 }
  );
  return a4(Show, { of: facts, children: (data) => a4(Found5, { facts: data }) });
}
function Found5({ facts }) {
  const { run: run2, explain, timeline, steps } = facts;
  A2(() => seen(`${run2.kind} ${run2.id}`, to(["runs", run2.id])), [run2.id]);
  return a4($, { children: [
    a4(
      Head,
      {
        up: { label: "Runs", page: "runs" },
        title: run2.kind,
        sub: a4("span", { class: "head-facts", children: [
          a4(State, { name: run2.state }),
          a4(Id, { id: run2.id, most: 40, copy: true }),
          a4("span", { children: [
            "created ",
            a4(Time, { at: run2.created_at })
          ] }),
          a4("span", { children: [
            ENDED.has(run2.state) ? "took " : "for ",
            a4(Span, { from: run2.started_at ?? run2.created_at, until: run2.completed_at })
          ] })
        ] }),
        children: a4(Actions, { run: run2, steps })
      }
    ),
    a4(Failure, { run: run2 }),
    !ENDED.has(run2.state) && a4(Why, { explain }),
    run2.progress.pct !== null && !ENDED.has(run2.state) && a4(Progress, { pct: run2.progress.pct, words: run2.progress.message ?? "" }),
    a4("div", { class: "run-grid", children: [
      a4("div", { class: "column", children: [
        a4(Card, { title: "Timeline", extra: timeline && timeline.axis.some((part) => part.folded) && a4("span", { class: "faint small", children: "idle time is folded" }), children: timeline?.spans.length ? a4(Timeline, { axis: timeline.axis, spans: timeline.spans }) : a4("p", { class: "pad faint", children: "Nothing has happened yet." }) }),
        a4(Card, { children: [
          a4("div", { class: "tabs-pad", children: a4(
            Tabs,
            {
              tabs: [
                { id: "logs", label: "Logs" },
                { id: "steps", label: "Steps", count: steps.length },
                { id: "attempts", label: "Attempts", count: run2.attempts },
                { id: "waits", label: "Waits" },
                { id: "children", label: "Children" },
                { id: "stream", label: "Stream" },
                { id: "history", label: "History" },
                { id: "compare", label: "Compare" }
              ]
            }
          ) }),
          a4(Part2, { run: run2, steps })
        ] })
      ] }),
      a4("div", { class: "column", children: [
        a4(Card, { title: "Facts", children: a4("div", { class: "pad", children: a4(About, { run: run2 }) }) }),
        run2.budgets.length > 0 && a4(Budgets, { run: run2 }),
        a4(PayloadCard, { title: "Input", address: addressOf("GET /v1/executions/{id}/input", { path: { id: run2.id }, query: { tenant: scope.value } }) }),
        run2.state === "completed" && a4(PayloadCard, { title: "Result", address: addressOf("GET /v1/executions/{id}/result", { path: { id: run2.id }, query: { tenant: scope.value } }) })
      ] })
    ] })
  ] });
}
function Actions({ run: run2, steps }) {
  const [input, setInput] = d2("");
  A2(() => {
    if (!seesPayloads()) return;
    payload(addressOf("GET /v1/executions/{id}/input", { path: { id: run2.id }, query: { tenant: scope.value } })).then((found) => setInput(found && found.bytes < 65536 ? found.text : "")).catch(() => void 0);
  }, [run2.id]);
  const actions = runActions(run2, steps, input);
  return a4($, { children: actions.map((action) => a4(Button, { action }, action.verb)) });
}
function Part2({ run: run2, steps }) {
  switch (param("tab")) {
    case "steps":
      return a4(Steps, { steps });
    case "attempts":
      return a4(Attempts, { id: run2.id });
    case "waits":
      return a4(Waits, { id: run2.id });
    case "children":
      return a4(Children, { id: run2.id });
    case "stream":
      return a4(Frames, { id: run2.id });
    case "history":
      return a4(History, { id: run2.id });
    case "compare":
      return a4(Compare, { run: run2 });
    default:
      return a4(Logs, { id: run2.id });
  }
}
function Failure({ run: run2 }) {
  const error = run2.error;
  if (!error?.type) return null;
  const isOver = ENDED.has(run2.state);
  return a4("section", { class: `failure tone-${isOver ? "danger" : "warn"}`, "aria-label": "Error", children: [
    a4(Icon, { name: "cause" }),
    a4("div", { class: "failure-text", children: [
      a4("h2", { children: error.type }),
      a4("p", { children: error.message }),
      !isOver && a4("p", { class: "faint", children: "The last attempt failed; it is tried again." }),
      error.details !== void 0 && error.details !== null && a4("details", { children: [
        a4("summary", { children: "Details" }),
        a4("pre", { children: typeof error.details === "string" ? error.details : JSON.stringify(error.details, null, 2) })
      ] })
    ] }),
    a4("a", { class: "link", href: to(["runs"], { kind: run2.kind, error_type: error.type, state: "failed,expired" }), children: [
      "Others like it ",
      a4(Icon, { name: "right" })
    ] })
  ] });
}
function Why({ explain }) {
  const links = explain.holds.flatMap((hold) => {
    const target = hold.target;
    return target ? [{ text: `${phrase(target.noun)} ${target.id}`, target }] : [];
  });
  return a4("section", { class: "why-card", "aria-label": "Why", children: [
    a4(Icon, { name: "info" }),
    a4("div", { children: [
      a4("p", { children: explain.why }),
      links.length > 0 && a4("ol", { class: "chain", children: links.map((one, at) => {
        const href = pageOf(one.target.noun, one.target.id);
        return a4("li", { children: [
          at > 0 && a4(Icon, { name: "right" }),
          href ? a4("a", { href, children: one.text }) : a4("span", { children: one.text })
        ] }, at);
      }) })
    ] })
  ] });
}
function Progress({ pct, words: words2 }) {
  return a4("div", { class: "progress", children: [
    a4("div", { class: "progress-track", role: "progressbar", "aria-valuenow": Math.round(pct), "aria-valuemin": 0, "aria-valuemax": 100, "aria-label": "Progress", children: a4("span", { style: { width: `${pct}%` } }) }),
    a4("span", { class: "num", children: [
      Math.round(pct),
      " %"
    ] }),
    a4("span", { class: "faint clip", children: words2 })
  ] });
}
function About({ run: run2 }) {
  const of2 = (noun, id) => a4(Id, { id, href: pageOf(noun, id) });
  return a4(
    Facts,
    {
      rows: [
        ["Tenant", of2("tenant", run2.tenant)],
        ["Lane", a4("a", { href: pageOf("lane", run2.lane) ?? "", children: run2.lane })],
        ["Priority", run2.priority],
        run2.worker !== null && ["Worker", of2("worker", run2.worker)],
        run2.requires.length > 0 && ["Requires", run2.requires.join(", ")],
        ["Attempts", `${run2.attempts} (${run2.failures} failed, ${run2.reclaims} reclaimed)`],
        run2.replays > 0 && ["Replays", run2.replays],
        run2.retry_at !== null && ["Next try", a4(Time, { at: run2.retry_at })],
        run2.run_at !== null && ["Starts", a4(Time, { at: run2.run_at })],
        run2.deadline_at !== null && ["Deadline", a4(Time, { at: run2.deadline_at })],
        run2.wait_until !== null && ["Waits until", a4(Time, { at: run2.wait_until })],
        run2.lease_expires_at !== null && ["Lease until", a4(Time, { at: run2.lease_expires_at })],
        run2.graph !== null && ["Graph", of2("graph", run2.graph)],
        run2.parent !== null && ["Parent", of2("execution", run2.parent)],
        !!run2.origin && ["Origin", of2("execution", run2.origin)],
        run2.budgets.length > 0 && ["Budgets", run2.budgets.map((id) => of2("budget", id))],
        run2.quotas.length > 0 && ["Quotas", run2.quotas.map((id) => of2("quota", id))],
        run2.reason !== null && run2.reason !== "" && ["Reason", run2.reason],
        run2.idempotency_key !== null && ["Idempotency key", a4("code", { children: middle(run2.idempotency_key, 28) })],
        Object.keys(run2.tags).length > 0 && ["Tags", a4(Tags, { tags: run2.tags })],
        run2.forget_at !== null && ["Kept until", a4(Time, { at: run2.forget_at })],
        !ENDED.has(run2.state) && ["Phase", `${phrase(run2.state_vector.lifecycle_phase)}, ${run2.state_vector.eligibility.replaceAll("_", " ")}`]
      ]
    }
  );
}
function Budgets({ run: run2 }) {
  const found = useLoad((signal) => Promise.all(run2.budgets.map((id) => call("GET /v1/budgets/{id}", { path: { id }, query: { tenant: run2.tenant }, signal }))), [run2.id, run2.budgets.join()], { every: 5e3 });
  return a4(Card, { title: "Budgets", children: a4("div", { class: "pad stack", children: a4(Show, { of: found, rows: 1, children: (budgets) => budgets.map((budget) => a4("div", { class: "stack-s", children: [
    a4("span", { class: "pair", children: [
      a4(Id, { id: budget.id, href: pageOf("budget", budget.id) }),
      " ",
      a4(Button, { action: { ...grant(budget), verb: "Grant more" }, tone: "slim" })
    ] }),
    a4(Spend, { budget })
  ] }, budget.id)) }) }) });
}
function PayloadCard({ title, address }) {
  const [found, setFound] = d2(void 0);
  const [problem, setProblem] = d2(null);
  const read4 = () => {
    payload(address).then(setFound).catch((error) => setProblem(error instanceof Problem ? error : new Problem(0, "page_failed", String(error), "")));
  };
  A2(() => {
    if (seesPayloads()) read4();
  }, [address]);
  return a4(Card, { title, extra: found && a4("span", { class: "faint small", children: found.type.split(";")[0] }), children: a4("div", { class: "pad", children: !seesPayloads() ? a4("p", { class: "faint", children: "Payloads are hidden: your key does not include them." }) : problem ? a4("p", { class: "faint", children: problem.message }) : found ? found.text ? a4(Payload, { text: found.text, name: title.toLowerCase() }) : a4("span", { class: "faint", children: "empty" }) : a4("span", { class: "faint", children: "…" }) }) });
}

// console/lib/files.ts
function save(text, name) {
  const link2 = document.createElement("a");
  link2.href = URL.createObjectURL(new Blob([text]));
  link2.download = name;
  link2.click();
  URL.revokeObjectURL(link2.href);
}
function csv(rows, fields) {
  const cell = (value) => /[",\n]/.test(String(value ?? "")) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? "");
  return [fields.join(","), ...rows.map((row) => fields.map((field) => cell(row[field])).join(","))].join("\n");
}

// console/lib/filters.ts
var FILTERS = {
  state: { param: "state", about: "one state or several, with commas" },
  kind: { param: "kind", about: "the task; mail.* for all that start so" },
  lane: { param: "lane", about: "the lane" },
  tag: { param: "tag", about: "a tag, as name:value" },
  error: { param: "error_type", about: "the type of the error" },
  id: { param: "id_prefix", about: "the start of an id" },
  graph: { param: "graph", about: "the members of a graph" },
  parent: { param: "parent", about: "the children of a run" },
  since: { param: "since", about: "created after: 2h, 3d, or a time" },
  until: { param: "until", about: "created before: 2h, 3d, or a time" },
  order: { param: "order", about: "oldest: the oldest first" },
  text: { param: "text", about: "a word in the id, the kind or the tags" }
};
var WORDS = { kind_prefix: "kind" };
for (const [word, { param: name }] of Object.entries(FILTERS)) WORDS[name] = word;
function tokens() {
  const found = [];
  for (const [name, value] of place.value.query) if (WORDS[name]) found.push({ word: WORDS[name], param: name, value: name === "kind_prefix" ? `${value}*` : value });
  return found;
}
function unknownParams(known) {
  return [...place.value.query.keys()].filter((name) => !WORDS[name] && !known.includes(name));
}
function add(text) {
  const changes = {};
  for (const part of text.match(/(?:[^\s"]|"[^"]*")+/g) ?? []) {
    const [, word, value] = /^(\w+):(.+)$/.exec(part) ?? [];
    const filter = word ? FILTERS[word] : void 0;
    const plain = (value ?? part).replaceAll('"', "");
    if (word === "kind" && plain.endsWith("*")) Object.assign(changes, { kind_prefix: plain.slice(0, -1), kind: null });
    else if (filter) changes[filter.param] = plain;
    else changes.text = part.replaceAll('"', "");
  }
  go(here(changes));
}
function remove(token) {
  go(here({ [token.param]: null }));
}
function clear() {
  go(here(Object.fromEntries(Object.keys(WORDS).map((name) => [name, null]))));
}
function query() {
  const found = {};
  for (const name of Object.keys(WORDS)) {
    const value = param(name);
    if (value) found[name] = name === "since" || name === "until" ? moment(value) : value;
  }
  return found;
}
var UNITS2 = { m: 6e4, h: 36e5, d: 864e5 };
function moment(text) {
  const [, amount, unit] = /^(\d+)([mhd])$/.exec(text) ?? [];
  if (!amount) return text;
  const at = Date.now() - Number(amount) * UNITS2[unit];
  return new Date(at - at % 6e4).toISOString();
}

// console/lib/runs.ts
var FIRST = 60;
var NEXT2 = 500;
var LEAST_MS2 = 1e3;
var POLL_MS2 = 5e3;
var MOST_SHORT_PAGES = 20;
function useRuns(query2, isBusy) {
  const [state, setState] = d2({ rows: [], total: void 0, problem: void 0, isLoading: true, at: 0, cursor: null, fresh: 0 });
  const busy = T2(isBusy);
  busy.current = isBusy;
  const reading = T2(null);
  const reload = T2(() => void 0);
  const more = T2(() => void 0);
  const key = JSON.stringify([query2, scope.value]);
  F2(() => {
    let timer;
    let started = 0;
    const read4 = async (cursor, limit, signal) => {
      const items = [];
      let total;
      let next2 = cursor;
      for (let pages = 0; pages < MOST_SHORT_PAGES; pages++) {
        const found = await call("GET /v1/executions", { query: { ...query2, tenant: scope.value, limit, why: true, ...cursor ? {} : { total: true }, ...next2 ? { cursor: next2 } : {} }, signal });
        items.push(...found.items);
        total ??= found.total;
        next2 = found.next_cursor;
        if (!next2 || items.length >= Math.min(limit, 50)) break;
      }
      return { items, next: next2, total };
    };
    const load = async (cursor) => {
      if (!cursor) started = Date.now();
      reading.current?.abort();
      const control = new AbortController();
      reading.current = control;
      try {
        const { items, next: next2, total } = await read4(cursor, cursor ? NEXT2 : FIRST, control.signal);
        if (control.signal.aborted) return;
        if (cursor) setState((before) => ({ ...before, rows: [...before.rows, ...without(items, before.rows)], cursor: next2 }));
        else setState((before) => ({ ...before, ...merged(before.rows, items, before.cursor, next2), total, problem: void 0, isLoading: false, at: Date.now(), fresh: 0 }));
      } catch (error) {
        if (!cursor && !control.signal.aborted) setState((before) => ({ ...before, isLoading: false, problem: error instanceof Problem ? error : new Problem(0, "page_failed", String(error), "") }));
      }
      if (reading.current === control) reading.current = null;
    };
    const later = () => {
      timer ??= setTimeout(
        () => {
          timer = void 0;
          if (!busy.current) void load(null);
        },
        Math.max(0, started + LEAST_MS2 - Date.now())
      );
    };
    const heard = (changes) => {
      if (changes.some((change) => change.type === "all")) return later();
      const news = changes.filter((change) => change.type === "execution");
      if (!news.length) return;
      setState((before) => changed(before, news));
      if (!busy.current) later();
    };
    reload.current = () => void load(null);
    more.current = () => {
      if (!reading.current) setState((before) => (before.cursor && void load(before.cursor), before));
    };
    setState((before) => ({ ...before, rows: [], total: void 0, isLoading: true, cursor: null, fresh: 0 }));
    void load(null);
    const stop = listen(heard);
    const poll2 = setInterval(() => {
      if (link.value !== "live" && document.visibilityState === "visible" && !paused.value && !busy.current && !reading.current) void load(null);
    }, POLL_MS2);
    return () => {
      stop();
      clearTimeout(timer);
      clearInterval(poll2);
      reading.current?.abort();
      reading.current = null;
    };
  }, [key]);
  A2(() => {
    if (!isBusy && state.fresh) reload.current();
  }, [isBusy]);
  return { ...state, more: state.cursor ? more.current : void 0, reload: () => reload.current() };
}
function merged(before, first, cursor, next2) {
  if (before.length <= first.length || !next2) return { rows: first, cursor: next2 };
  return { rows: [...first, ...without(before, first)], cursor };
}
function without(rows, others) {
  const known = new Set(others.map((row) => row.id));
  return rows.filter((row) => !known.has(row.id));
}
function changed(before, changes) {
  const latest = new Map(changes.map((change) => [String(change.data.execution), change.data]));
  let fresh = before.fresh;
  let hits = 0;
  const rows = before.rows.map((row) => {
    const news = latest.get(row.id);
    if (!news) return row;
    hits += 1;
    const state = String(news.state);
    return row.state === state ? row : { ...row, state, attempts: Number(news.attempts ?? row.attempts), why: null };
  });
  fresh += latest.size - hits;
  return { ...before, rows: hits ? rows : before.rows, fresh };
}

// console/lib/bulk_actions.ts
var LABELS = { cancel: "Cancel", replay: "Replay", prioritize: "Set priority" };
var OPTIONS = { error_type: "error", id_prefix: "id", kind_prefix: "kind" };
function options(filter) {
  const written2 = (name, value) => name === "tag" ? value.replace(":", "=") : name === "kind_prefix" ? `${value}*` : value;
  return Object.entries(filter).map(([name, value]) => option(OPTIONS[name] ?? name, written2(name, value))).join("");
}
async function askForAll(verb) {
  const { order: _4, ...filter } = query();
  const tenant2 = me.value?.tenant ? void 0 : oneTenant() ?? void 0;
  const action = { action: verb, filter, ...tenant2 ? { tenant: tenant2 } : {} };
  const priority = (values) => verb === "prioritize" ? { priority: Number(values.priority) } : {};
  try {
    const found = await call("POST /v1/bulk", { body: { ...action, ...priority({ priority: "0" }), dry_run: true } });
    const many = `${count(found.count)}${found.exact ? "" : " or more"} ${found.count === 1 ? "run" : "runs"}`;
    if (!found.count) return tell(`No run that matches allows this: ${LABELS[verb].toLowerCase()}.`, "danger");
    ask({
      title: `${LABELS[verb]}: ${many}`,
      verb: `${LABELS[verb]} ${count(found.count)}`,
      about: `${[...new Set(found.sample.map((run2) => `${run2.kind} ${run2.id}`))].slice(0, 3).join(", ")}${found.count > 3 ? " and others" : ""}. The server acts on each once, also if it restarts; the page of the action shows how far it is, and can stop it.`,
      target: "POST /v1/bulk",
      fields: [...verb === "prioritize" ? [{ name: "priority", label: "Priority", kind: "number", initial: "0" }] : [], REASON, { name: "rate", label: "Runs per second, at most", kind: "number", initial: "50" }],
      body: (values) => ({ ...action, ...priority(values), reason: values.reason, rate: Number(values.rate), expected: found.count }),
      cli: (values) => `bulk ${verb}${options(filter)}${verb === "prioritize" ? option("priority", values.priority) : ""}${option("tenant", tenant2)} --expect ${found.count} --rate ${values.rate}${option("reason", values.reason)}`,
      role: "operator",
      isDangerous: verb === "cancel",
      typed: String(found.count),
      done: () => `${LABELS[verb]}: ${plural(found.count, "run")}, as a run of its own.`,
      after: (reply2) => go(to(["runs", reply2.execution]))
    });
  } catch (error) {
    tell(error instanceof Problem ? error.message : String(error), "danger");
  }
}

// console/parts/bulk.tsx
var TYPED_ABOVE = 100;
function Bulk({ rows, done, selected }) {
  const [verb, setVerb] = d2(null);
  const isAllowed = may("operator");
  const close = (isDone) => {
    setVerb(null);
    if (isDone) done();
  };
  return a4("div", { class: "bulk", children: [
    a4("b", { children: [
      plural(selected.size, "run"),
      " selected"
    ] }),
    ["cancel", "replay"].map((one) => a4("button", { type: "button", class: `button slim ${one === "cancel" ? "danger" : ""}`, disabled: !isAllowed, title: isAllowed ? "" : "Needs the role operator.", onClick: () => setVerb(one), children: [
      a4(Icon, { name: one === "cancel" ? "slash" : "retry" }),
      " ",
      one === "cancel" ? "Cancel" : "Replay"
    ] }, one)),
    a4("button", { type: "button", class: "link", onClick: done, children: "Clear" }),
    verb && a4(OfSelected, { verb, ids: [...selected], rows, close })
  ] });
}
function AllMatching({ total }) {
  const missing = !may("operator") ? "Needs the role operator." : oneTenant() === null ? "Choose one tenant first, at the foot of the sidebar." : "";
  return a4("details", { class: "menu-box up", children: [
    a4("summary", { class: "link", children: [
      "All ",
      total,
      " that match …"
    ] }),
    a4("div", { class: "menu-list", children: Object.keys(LABELS).map((verb) => a4("button", { type: "button", class: "link", disabled: missing !== "", title: missing, onClick: () => void askForAll(verb), children: [
      LABELS[verb],
      " …"
    ] }, verb)) })
  ] });
}
function OfSelected({ verb, ids, rows, close }) {
  const [results, setResults] = d2([]);
  const [isRunning, setRunning] = d2(false);
  const kinds = new Set(rows.filter((row) => ids.includes(row.id)).map((row) => row.kind));
  const skipped = rows.filter((row) => ids.includes(row.id) && ENDED.has(row.state) === (verb === "cancel")).length;
  const run2 = async (reason) => {
    setRunning(true);
    const found = [];
    for (const id of ids) {
      let problem = null;
      try {
        await call(verb === "cancel" ? "POST /v1/executions/{id}/cancel" : "POST /v1/executions/{id}/replay", { path: { id }, query: { tenant: scope.value }, body: { reason } });
      } catch (error) {
        problem = error instanceof Problem ? error : new Problem(0, "page_failed", String(error), "");
      }
      found.push({ id, problem });
      setResults([...found]);
    }
    setRunning(false);
    reloadAll();
    if (found.every((one) => !one.problem)) {
      tell(`${verb === "cancel" ? "Cancelled" : "Replayed"} ${plural(found.length, "run")}.`, "good");
      close(true);
    }
  };
  const refused = results.filter((one) => one.problem);
  return a4(
    Asked,
    {
      title: `${verb === "cancel" ? "Cancel" : "Replay"} ${plural(ids.length, "selected run")}`,
      about: `${[...kinds].slice(0, 4).join(", ")}${kinds.size > 4 ? " and others" : ""}. ${skipped ? `${plural(skipped, "of them has", "of them have")} ${verb === "cancel" ? "ended already and will be refused" : "not ended and will be refused"}.` : ""}`,
      verb,
      expected: ids.length,
      isBusy: isRunning,
      run: run2,
      close: () => close(results.length > 0),
      command: (reason) => ids.slice(0, 3).map((id) => `holdfast ${verb} ${quoted(id)} --reason ${quoted(reason)}`).join("\n") + (ids.length > 3 ? "\n…" : ""),
      children: [
        results.length > 0 && a4("p", { role: "status", children: [
          count(results.length),
          " of ",
          count(ids.length),
          " done",
          refused.length ? `, ${count(refused.length)} refused` : ""
        ] }),
        refused.length > 0 && a4("ul", { class: "refused", children: refused.slice(0, 20).map((one) => a4("li", { children: [
          a4("code", { children: one.id }),
          " ",
          one.problem.message
        ] }, one.id)) })
      ]
    }
  );
}
function Asked({ title, about, verb, expected, isBusy, run: run2, close, command, children }) {
  const [reason, setReason] = d2("");
  const [typed, setTyped] = d2("");
  const mustType = expected > TYPED_ABOVE;
  const isReady = !isBusy && (!mustType || typed === String(expected));
  const submit = (event) => {
    event.preventDefault();
    if (isReady) void run2(reason);
  };
  return a4(Dialog, { title, close, children: a4("form", { onSubmit: submit, noValidate: true, children: [
    a4("p", { class: "about", children: about }),
    a4("label", { class: "field", children: [
      a4("span", { children: "Reason" }),
      a4("input", { value: reason, onInput: (event) => setReason(event.currentTarget.value), autocomplete: "off" })
    ] }),
    mustType && a4("label", { class: "field", children: [
      a4("span", { children: [
        "Type ",
        a4("b", { children: expected }),
        " to confirm"
      ] }),
      a4("input", { value: typed, inputMode: "numeric", onInput: (event) => setTyped(event.currentTarget.value), autocomplete: "off" })
    ] }),
    children,
    a4("details", { class: "commands", children: [
      a4("summary", { children: "The same from a terminal" }),
      a4("div", { class: "command", children: [
        a4("pre", { children: command(reason) }),
        a4(Copy, { text: command(reason), label: "Copy command" })
      ] })
    ] }),
    a4("footer", { children: [
      a4("button", { type: "button", class: "button", onClick: close, children: "Back" }),
      a4("button", { type: "submit", class: `button ${verb === "cancel" ? "danger-fill" : "primary"}`, disabled: !isReady, children: [
        verb === "cancel" ? "Cancel" : "Replay",
        " ",
        count(expected)
      ] })
    ] })
  ] }) });
}

// console/parts/filterbar.tsx
function FilterBar({ values, words: words2 }) {
  const [text, setText] = d2("");
  const field = T2(null);
  useKeys([{ keys: "f", about: "Filter", run: () => field.current?.focus() }]);
  const found = tokens();
  const [, word] = /^(\w+):/.exec(text) ?? [];
  const options2 = word ? (values[word] ?? []).map((value) => `${word}:${value}`) : words2.map((one) => `${one}:`);
  const enter = (event) => {
    if (event.key === "Enter" && text.trim()) {
      event.preventDefault();
      add(text);
      setText("");
    } else if (event.key === "Backspace" && !text && found.length) remove(found.at(-1));
    else if (event.key === "Escape") field.current?.blur();
  };
  return a4("div", { class: "filters", role: "search", children: [
    a4(Icon, { name: "search" }),
    found.map((token) => a4("span", { class: "token", children: [
      a4("span", { class: "faint", children: token.word }),
      a4("b", { class: "clip", children: token.value }),
      a4("button", { type: "button", "aria-label": `Remove ${token.word} ${token.value}`, onClick: () => remove(token), children: a4(Icon, { name: "close" }) })
    ] }, token.param)),
    a4(
      "input",
      {
        ref: field,
        value: text,
        list: "filter-options",
        placeholder: found.length ? "more" : "state:failed  kind:mail.*  tag:region:eu  since:2h",
        "aria-label": "Filter",
        spellcheck: false,
        autocomplete: "off",
        onInput: (event) => setText(event.currentTarget.value),
        onKeyDown: enter
      }
    ),
    a4("datalist", { id: "filter-options", children: options2.slice(0, 50).map((option2) => a4("option", { value: option2, children: word ? void 0 : FILTERS[option2.slice(0, -1)]?.about }, option2)) }),
    found.length > 0 && a4("button", { type: "button", class: "link", onClick: clear, children: "Clear" })
  ] });
}

// console/parts/views.tsx
var PRESETS2 = [
  ["Failed today", { state: "failed,expired", since: "24h" }],
  ["Running", { state: "active" }],
  ["Waiting longest", { state: "waiting,rate_limited", order: "oldest" }],
  ["Waiting for people", { state: "suspended", order: "oldest" }]
];
function Views({ page: page2 }) {
  const views = useLoad((signal) => call("GET /v1/views", { signal }), []);
  const change = async (work) => {
    try {
      await work;
    } catch (error) {
      tell(error instanceof Problem ? error.message : String(error), "danger");
    }
    views.reload();
  };
  const save2 = (event) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get("name") ?? "").trim();
    if (name) void change(call("PUT /v1/views/{name}", { path: { name }, body: { page: page2, query: place.value.query.toString() } }));
    event.currentTarget.reset();
  };
  return a4("details", { class: "menu-box", children: [
    a4("summary", { class: "button", children: [
      a4(Icon, { name: "star" }),
      " Views"
    ] }),
    a4("div", { class: "menu-list", children: [
      PRESETS2.map(([name, query2]) => a4("button", { type: "button", class: "link", onClick: () => go(to([page2], query2)), children: name }, name)),
      views.data?.items.filter((view) => view.page === page2).map(({ name, query: query2 }) => a4("span", { class: "view-row", children: [
        a4("button", { type: "button", class: "link", onClick: () => go(`${to([page2], { tenant: null })}?${query2}`), children: name }),
        a4("button", { type: "button", class: "icon-button quiet", "aria-label": `Remove the view ${name}`, onClick: () => void change(call("DELETE /v1/views/{name}", { path: { name } })), children: a4(Icon, { name: "close" }) })
      ] }, name)),
      a4("form", { class: "view-row", onSubmit: save2, children: [
        a4("input", { name: "name", placeholder: "Save this view as", "aria-label": "Name of the view" }),
        a4("button", { type: "submit", class: "button slim", children: "Save" })
      ] })
    ] })
  ] });
}

// console/pages/runs.tsx
var COLUMNS = [
  { id: "state", label: "State", width: "8.75rem", cell: (row) => a4(State, { name: row.state }) },
  { id: "kind", label: "Task", width: "13rem", cell: (row) => a4("a", { class: "strong", href: to(["runs", row.id]), title: row.kind, children: row.kind }) },
  { id: "id", label: "Id", width: "11.500rem", drop: "wide", cell: (row) => a4(Id, { id: row.id, href: to(["runs", row.id]), most: 18 }) },
  { id: "why", label: "Why", drop: "narrow", cell: (row) => a4(Why2, { row }) },
  { id: "tags", label: "Tags", width: "12%", drop: "medium", cell: (row) => a4(Tags, { tags: row.tags }) },
  { id: "tenant", label: "Tenant", width: "7rem", drop: "medium", cell: (row) => row.tenant },
  { id: "lane", label: "Lane", width: "5.500rem", drop: "wide", cell: (row) => row.lane },
  { id: "worker", label: "Worker", width: "9rem", drop: "medium", cell: (row) => row.worker ? middle(row.worker, 18) : "" },
  { id: "attempts", label: "Tries", width: "4rem", kind: "num", drop: "wide", cell: (row) => row.attempts },
  { id: "priority", label: "Priority", width: "5rem", kind: "num", drop: "medium", cell: (row) => row.priority },
  { id: "time", label: "Time", width: "5.500rem", kind: "num", drop: "narrow", cell: (row) => a4(Span, { from: row.started_at ?? row.created_at, until: row.completed_at }) },
  { id: "created", label: "Created", width: "5.500rem", kind: "num", cell: (row) => a4(Time, { at: row.created_at }) }
];
var chosen = kept("columns", ["state", "kind", "id", "why", "lane", "attempts", "time", "created"]);
var STATES3 = RUN_STATES;
function Why2({ row }) {
  const error = row.error;
  if (error?.type && row.state !== "completed")
    return a4("span", { class: "why", title: error.message, children: [
      a4("b", { class: "tone-danger toned", children: error.type }),
      " ",
      error.message
    ] });
  const words2 = row.why ?? (row.progress.message || (ENDED.has(row.state) ? row.reason : ""));
  return a4("span", { class: "why faint", title: words2 ?? "", children: [
    row.progress.pct !== null && row.state === "active" && a4("b", { class: "num", children: [
      Math.round(row.progress.pct),
      " % "
    ] }),
    words2
  ] });
}
function Runs() {
  const [isScrolled, setScrolled] = d2(false);
  const [selected, setSelected] = d2(/* @__PURE__ */ new Set());
  const filter = query();
  const runs = useRuns(filter, isScrolled || selected.size > 0);
  const counts = useLoad((signal) => call("GET /v1/counts", { query: { tenant: scope.value }, signal }), [scope.value], { when: of("execution") });
  const known = counts.data?.items ?? [];
  const values = w2(() => ({ state: [...STATES3], kind: [...new Set(known.map((item) => item.kind))].sort(), lane: [...new Set(known.map((item) => item.lane))].sort(), order: ["oldest"] }), [counts.data]);
  const states = {};
  for (const item of known) if ((!filter.kind || item.kind === filter.kind) && (!filter.kind_prefix || item.kind.startsWith(filter.kind_prefix)) && (!filter.lane || item.lane === filter.lane)) states[item.state] = (states[item.state] ?? 0) + item.count;
  const columns = COLUMNS.filter((column) => chosen.value.includes(column.id) || column.id === "tenant" && !tenant.value && new Set(known.map((item) => item.tenant)).size > 1);
  const unknown2 = unknownParams(["tenant", "columns"]);
  return a4("div", { class: "fill", children: [
    a4(Head, { title: "Runs", children: [
      a4(Views, { page: "runs" }),
      a4(Columns, {}),
      a4(Export, { filter }),
      a4("a", { class: "button primary", href: to(["new"]), children: [
        a4(Icon, { name: "plus" }),
        " New run"
      ] })
    ] }),
    a4(FilterBar, { values, words: ["state", "kind", "lane", "tag", "error", "id", "since", "until", "graph", "parent", "order", "text"] }),
    unknown2.length > 0 && a4("p", { class: "problem small", children: [
      "The address has parameters that this page does not know: ",
      unknown2.join(", "),
      "."
    ] }),
    a4(StateStrip, { counts: states }),
    a4("section", { class: "card fill", children: [
      selected.size > 0 && a4(Bulk, { selected, done: () => setSelected(/* @__PURE__ */ new Set()), rows: runs.rows }),
      runs.fresh > 0 && (isScrolled || selected.size > 0) && a4("button", { type: "button", class: "fresh", onClick: runs.reload, children: [
        a4(Icon, { name: "up" }),
        " ",
        count(runs.fresh),
        " new"
      ] }),
      a4(List, { runs, columns, selected, select: setSelected, scrolled: setScrolled }),
      a4("footer", { class: "list-foot", children: [
        a4("span", { "aria-live": "polite", children: runs.total ? `${runs.total.text} runs` : `${count(runs.rows.length)}${runs.more ? "+" : ""} runs` }),
        runs.rows.length > 0 && a4("button", { type: "button", class: "link", onClick: () => setSelected(new Set(runs.rows.map((row) => row.id))), children: [
          "Select all ",
          count(runs.rows.length),
          " that are loaded"
        ] }),
        runs.total && runs.rows.length > 0 && tokens().length > 0 && a4(AllMatching, { total: runs.total.text })
      ] })
    ] })
  ] });
}
function List({ runs, columns, selected, select, scrolled }) {
  if (!runs.rows.length) {
    if (runs.isLoading) return a4(Loading, { rows: 12 });
    if (runs.problem) return a4(Failed, { problem: runs.problem, retry: runs.reload });
    if (tokens().length)
      return a4(Notice, { icon: "search", title: "No run fits these filters", children: a4("button", { type: "button", class: "button", onClick: clear, children: "Clear the filters" }) });
    return a4(Empty, { icon: "runs", title: "Nothing has run yet", command: `holdfast submit hello --input '{"name": "Ann"}'`, children: "A run is one execution of a task: it is durable, and its page says what it does and why it waits." });
  }
  return a4(VirtualTable, { rows: runs.rows, columns, keyOf: (row) => row.id, href: (row) => to(["runs", row.id]), label: "Runs", total: runs.total?.count, selected, select, more: runs.more, busy: scrolled });
}
function StateStrip({ counts }) {
  const active = new Set(param("state").split(",").filter(Boolean));
  const toggled = (state) => {
    const states = new Set(active);
    if (!states.delete(state)) states.add(state);
    return here({ state: STATES3.filter((one) => states.has(one)).join(",") || null });
  };
  return a4("nav", { class: "strip", "aria-label": "States", children: [
    a4("a", { href: here({ state: null }), "aria-current": active.size ? void 0 : "true", children: "All" }),
    STATES3.map((state) => a4("a", { href: toggled(state), "aria-current": active.has(state) ? "true" : void 0, class: `tone-${toneOf(state)} ${counts[state] ? "" : "none"}`, children: [
      phrase(state),
      " ",
      a4("b", { children: brief(counts[state] ?? 0) })
    ] }, state))
  ] });
}
function Columns() {
  return a4("details", { class: "menu-box", children: [
    a4("summary", { class: "button", children: [
      a4(Icon, { name: "columns" }),
      " Columns"
    ] }),
    a4("div", { class: "menu-list", children: COLUMNS.map((column) => a4("label", { class: "field check", children: [
      a4("input", { type: "checkbox", checked: chosen.value.includes(column.id), onChange: (event) => chosen.value = COLUMNS.map((one) => one.id).filter((id) => id === column.id ? event.currentTarget.checked : chosen.value.includes(id)) }),
      a4("span", { children: column.label })
    ] }, column.id)) })
  ] });
}
var MOST_EXPORTED = 1e4;
var FIELDS = ["id", "tenant", "kind", "lane", "state", "attempts", "priority", "created_at", "started_at", "completed_at", "worker", "why"];
function Export({ filter }) {
  const write = async (type) => {
    const rows = await all((cursor) => call("GET /v1/executions", { query: { ...filter, tenant: scope.value, limit: 500, why: true, ...cursor ? { cursor } : {} } }), MOST_EXPORTED);
    save(type === "csv" ? csv(rows, FIELDS) : JSON.stringify(rows, null, 2), `runs.${type}`);
    tell(`${count(rows.length)} runs saved${rows.length >= MOST_EXPORTED ? "; there are more" : ""}.`, "good");
  };
  return a4("details", { class: "menu-box", children: [
    a4("summary", { class: "button", children: [
      a4(Icon, { name: "download" }),
      " Export"
    ] }),
    a4("div", { class: "menu-list", children: [
      ["csv", "json"].map((type) => a4("button", { type: "button", class: "link", onClick: () => void write(type), children: [
        "All that match, as ",
        type.toUpperCase()
      ] }, type)),
      a4("button", { type: "button", class: "link", onClick: () => go(here({ order: param("order") ? null : "oldest" })), children: param("order") ? "Newest first" : "Oldest first" })
    ] })
  ] });
}

// console/lib/cron.ts
var DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
var NAMES = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
var MONTHS = ["", "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
function inWords(cron) {
  const fields = cron.trim().split(/\s+/);
  if (fields.length !== 5) return cron;
  const [minute, hour, day, month, weekday] = fields;
  const time = timeWords(minute, hour);
  if (time === null) return cron;
  const days = dayWords(day, weekday);
  const months = month === "*" ? "" : listed(month, (part) => MONTHS[Number(part)] ?? null, " in ");
  if (days === null || months === null) return cron;
  const words2 = `${time}${days}${months}`;
  return words2[0].toUpperCase() + words2.slice(1);
}
function timeWords(minute, hour) {
  const every = /^\*\/(\d+)$/;
  if (minute === "*" && hour === "*") return "every minute";
  if (every.test(minute) && hour === "*") return `every ${every.exec(minute)[1]} minutes`;
  if (/^\d+$/.test(minute)) {
    if (hour === "*") return `every hour at :${minute.padStart(2, "0")}`;
    if (every.test(hour)) return `every ${every.exec(hour)[1]} hours at :${minute.padStart(2, "0")}`;
    return listed(hour, (part) => /^\d+$/.test(part) ? `${part.padStart(2, "0")}:${minute.padStart(2, "0")}` : null, "at ");
  }
  return null;
}
function dayWords(day, weekday) {
  if (day === "*" && weekday === "*") return "";
  if (day === "*") {
    const range = /^([0-7]|[a-z]{3})-([0-7]|[a-z]{3})$/i.exec(weekday);
    if (range) {
      const [from2, to2] = [nameOf(range[1]), nameOf(range[2])];
      return from2 === "Monday" && to2 === "Friday" ? " on weekdays" : from2 && to2 ? `, ${from2} to ${to2}` : null;
    }
    return listed(weekday, nameOf, " on ");
  }
  if (weekday === "*") return listed(day, (part) => /^\d+$/.test(part) ? part : null, " on day ");
  return null;
}
function nameOf(part) {
  return /^[0-7]$/.test(part) ? DAYS[Number(part)] : DAYS[NAMES.indexOf(part.toUpperCase())] ?? null;
}
function listed(text, word, before) {
  const words2 = text.split(",").map(word);
  if (words2.includes(null) || words2.length > 6) return null;
  return before + (words2.length > 1 ? `${words2.slice(0, -1).join(", ")} and ${words2.at(-1)}` : words2[0]);
}

// console/pages/schedules.tsx
function whenWords(schedule) {
  if (schedule.cron) return `${inWords(schedule.cron)}${schedule.timezone === "UTC" ? " UTC" : `, ${schedule.timezone}`}`;
  if (schedule.every_ms) return `Every ${span(schedule.every_ms)}`;
  return schedule.at ? `Once, at ${exact(schedule.at)}` : "";
}
function Schedules() {
  const found = useLoad((signal) => call("GET /v1/schedules", { query: { tenant: scope.value, limit: 500 }, signal }), [scope.value], { when: of("execution"), every: 1e4 });
  return a4($, { children: [
    a4(Head, { title: "Schedules", sub: "Runs that start by the clock, once for each time, whichever server is alive." }),
    a4(
      Show,
      {
        of: found,
        empty: (data) => data.items.length ? null : a4(Empty, { icon: "schedule", title: "There is no schedule", command: "holdfast schedules create nightly report --cron '30 2 * * *'", children: "A schedule submits a run at each of its times." }),
        children: (data) => {
          const chosen2 = data.items.find((one) => one.id === param("id"));
          return a4($, { children: [
            a4(Card, { children: a4(
              Table,
              {
                label: "Schedules",
                rows: data.items,
                keyOf: (row) => row.id,
                chosen: param("id"),
                href: (row) => here({ id: row.id }),
                columns: [
                  { id: "id", label: "Schedule", cell: (row) => a4("a", { class: "strong", href: here({ id: row.id }), children: row.id }) },
                  { id: "state", label: "State", cell: (row) => a4(State, { name: row.error ? "error" : row.paused ? "paused" : "live", word: row.error ? "Error" : row.paused ? "Paused" : "On" }) },
                  { id: "when", label: "When", kind: "grow", cell: (row) => a4("span", { title: row.cron ?? "", children: whenWords(row) }) },
                  { id: "kind", label: "Task", drop: "narrow", cell: (row) => String(row.execution.kind ?? "") },
                  { id: "next", label: "Next", kind: "num", cell: (row) => a4(Time, { at: row.next_at }) },
                  { id: "last", label: "Last", kind: "num", drop: "narrow", cell: (row) => row.last_execution ? a4("a", { class: "link", href: to(["runs", row.last_execution]), children: a4(Time, { at: row.last_at }) }) : a4("span", { class: "faint", children: "–" }) },
                  { id: "fired", label: "Fired", kind: "num", drop: "medium", cell: (row) => count(row.fired) },
                  { id: "act", label: "Actions", kind: "actions", drop: "narrow", cell: (row) => [trigger(row), pause2(row)].map((action) => a4(Button, { action, tone: "slim" }, action.verb)) }
                ]
              }
            ) }),
            chosen2 && a4(Details2, { schedule: chosen2 }, chosen2.id)
          ] });
        }
      }
    )
  ] });
}
function Details2({ schedule }) {
  const next2 = useLoad((signal) => call("GET /v1/schedules/{id}/next", { path: { id: schedule.id }, query: { tenant: schedule.tenant, count: 5 }, signal }), [schedule.id, schedule.version, schedule.last_at]);
  return a4("div", { class: "columns", children: [
    a4(
      Card,
      {
        title: schedule.id,
        extra: a4($, { children: [
          a4(Button, { action: trigger(schedule), tone: "slim" }),
          a4(Button, { action: pause2(schedule), tone: "slim" }),
          a4(Button, { action: drop(schedule), tone: "slim" })
        ] }),
        children: a4("div", { class: "pad", children: a4(
          Facts,
          {
            rows: [
              ["When", whenWords(schedule)],
              schedule.cron !== null && ["Cron", a4("code", { children: schedule.cron })],
              ["Tenant", schedule.tenant],
              ["Missed times", schedule.catch_up === "none" ? "are skipped" : schedule.catch_up === "one" ? "are made up for once" : `are all made up for, at most ${schedule.catch_up_limit}`],
              ["While one runs", schedule.overlap === "allow" ? "the next starts too" : schedule.overlap === "skip" ? "the next is skipped" : "the next waits"],
              ["Fired", `${count(schedule.fired)}, ${count(schedule.skipped)} skipped, ${count(schedule.missed)} missed`],
              schedule.last_execution !== null && ["Last run", a4(Id, { id: schedule.last_execution, href: to(["runs", schedule.last_execution]) })],
              schedule.error !== null && ["Error", a4("span", { class: "problem", children: schedule.error })],
              ["Changed", a4(Time, { at: schedule.changed_at })]
            ]
          }
        ) })
      }
    ),
    a4("div", { class: "column", children: [
      a4(Card, { title: "Next five", children: a4("div", { class: "pad", children: a4(Show, { of: next2, rows: 5, children: (data) => a4("ol", { class: "stack-s", children: data.items.map((at) => a4("li", { class: "pair", children: [
        a4(Time, { at, as: "exact" }),
        " ",
        a4("span", { class: "faint", children: a4(Time, { at }) })
      ] }, at)) }) }) }) }),
      a4(Card, { title: "What it submits", children: a4("div", { class: "pad", children: a4(Value, { value: schedule.execution }) }) })
    ] })
  ] });
}
function trigger(schedule) {
  return {
    title: `Fire ${schedule.id} now`,
    verb: "Fire now",
    icon: "bolt",
    about: "One run more, at once; its times stay as they are.",
    target: "POST /v1/schedules/{id}/trigger",
    path: { id: schedule.id },
    query: { tenant: schedule.tenant },
    cli: () => `schedules trigger ${quoted(schedule.id)}`,
    role: "operator",
    done: () => `${schedule.id} fired.`,
    after: (reply2) => go(to(["runs", reply2.id]))
  };
}
function pause2(schedule) {
  const verb = schedule.paused ? "resume" : "pause";
  return {
    title: `${schedule.paused ? "Resume" : "Pause"} ${schedule.id}`,
    verb: schedule.paused ? "Resume" : "Pause",
    icon: schedule.paused ? "play" : "pause",
    target: "PATCH /v1/schedules/{id}",
    path: { id: schedule.id },
    query: { tenant: schedule.tenant },
    body: () => ({ paused: !schedule.paused }),
    cli: () => `schedules ${verb} ${quoted(schedule.id)}`,
    role: "operator",
    done: () => `${schedule.id} is ${schedule.paused ? "on again" : "paused"}.`
  };
}
function drop(schedule) {
  return {
    title: `Delete schedule ${schedule.id}`,
    verb: "Delete",
    icon: "trash",
    about: "Runs that it has submitted stay.",
    target: "DELETE /v1/schedules/{id}",
    path: { id: schedule.id },
    query: { tenant: schedule.tenant },
    cli: () => `schedules delete ${quoted(schedule.id)}`,
    role: "operator",
    isDangerous: true,
    done: () => `${schedule.id} is deleted.`
  };
}

// console/parts/flow.tsx
var NARROWEST = 64;
function FlowPicture({ session, moment: moment2 }) {
  const flow = moment2?.at?.flow ?? session.kind.split(":")[1];
  const found = useLoad(
    async (signal) => {
      if (!session.revision || !flow) return null;
      const deployments = await soft(call("GET /v1/envs/{env}/deployments", { path: { env: session.env }, query: { tenant: session.tenant, limit: 200 }, signal }));
      const revision = deployments?.items.flatMap((one) => one.revisions).find((one) => one.id === session.revision);
      if (!revision?.digest) return null;
      return soft(call("GET /v1/packs/{digest}/flows/{flow}/layout", { path: { digest: revision.digest, flow }, query: { tenant: session.tenant }, signal }));
    },
    [session.id, session.revision, flow]
  );
  const layout = found.data;
  if (!layout) return null;
  const visits = /* @__PURE__ */ new Map();
  for (const visit of moment2?.path ?? []) if (visit.flow === flow) visits.set(visit.node, (visits.get(visit.node) ?? 0) + 1);
  const current = moment2?.at?.node ?? "";
  const nodes = layout.nodes.map((node) => {
    const times = visits.get(node.key) ?? 0;
    return { ...node, w: Math.max(node.w, NARROWEST), label: node.label || node.key, note: times > 1 ? `${node.kind} · ${times} times` : node.kind, state: node.key === current ? "active" : times ? "completed" : "idle" };
  });
  const byKey = new Map(nodes.map((node) => [node.key, node]));
  const edges = layout.edges.map((edge) => ({ ...edge, kind: edge.back ? "back" : "success", points: joined(edge.points, byKey.get(edge.from), byKey.get(edge.to)) }));
  return a4(Card, { title: `Flow ${layout.title || layout.flow}`, extra: current && a4("span", { class: "faint small", children: [
    "at ",
    current
  ] }), children: a4(Diagram, { label: "The flow of this session", width: layout.size.w, height: layout.size.h, chosen: current, nodes, edges }) });
}

// console/parts/rehearse.tsx
function Rehearse({ session, line, show }) {
  const [steps, setSteps] = d2([]);
  const [found, setFound] = d2(null);
  const [problem, setProblem] = d2("");
  const rehearse = async (wanted) => {
    try {
      const reply2 = await call("POST /v1/sessions/{id}/rehearse", { path: { id: session.id }, query: { tenant: scope.value }, body: { line, steps: wanted, name: `session of ${session.user}` } });
      setProblem("");
      return reply2;
    } catch (error) {
      setProblem(error instanceof Problem ? error.message : String(error));
      return null;
    }
  };
  const say = async (step) => {
    const reply2 = await rehearse([...steps, step]);
    if (!reply2) return;
    setSteps([...steps, step]);
    setFound(reply2);
    show(reply2.moment);
  };
  const clear2 = () => {
    setSteps([]);
    setFound(null);
    setProblem("");
    show(null);
  };
  A2(clear2, [session.id, line]);
  const keep = async () => {
    const reply2 = await rehearse(steps);
    if (reply2) save(reply2.test, "session.yaml");
  };
  const send2 = (event) => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget).get("text") ?? "").trim();
    event.currentTarget.reset();
    if (text) void say({ say: text });
  };
  const isAllowed = may("operator");
  return a4(
    Card,
    {
      title: `Simulator, after line ${line}`,
      extra: a4($, { children: [
        found && a4("button", { type: "button", class: "button slim", onClick: clear2, children: "Start over" }),
        a4("button", { type: "button", class: "button slim", disabled: !isAllowed, onClick: () => void keep(), title: "The conversation up to here as a test, for holdfast pack test", children: [
          a4(Icon, { name: "download" }),
          " Save as pack test"
        ] })
      ] }),
      children: [
        a4("p", { class: "pad faint small", children: "Say something else from here on. Calls get the answers that they got; nobody is called, and nothing is written." }),
        found && a4("ol", { class: "talk short", "aria-label": "Rehearsed", children: [
          found.happened.map((one, at) => a4("li", { class: one.act ? "talk-in" : "talk-out", children: a4("span", { class: "bubble", children: [
            a4("span", { class: "bubble-text", children: one.act && !one.act.say ? Object.entries(one.act).map(([verb, what]) => `${verb} ${String(what)}`).join(", ") : String(one.payload.text ?? JSON.stringify(one.payload)) }),
            a4(Buttons, { payload: one.payload, press: at === found.happened.length - 1 ? (value) => void say({ click: value }) : void 0 })
          ] }) }, at)),
          a4("li", { children: a4(Tag, { tone: found.status === "failed" ? "danger" : "plain", children: phrase(found.status) }) })
        ] }),
        (problem || found?.problem) && a4("p", { class: "problem pad", children: problem || found?.problem }),
        a4("form", { class: "composer", onSubmit: send2, children: [
          a4("input", { name: "text", placeholder: `Say as ${session.user}`, "aria-label": "What the user says", autocomplete: "off", disabled: !isAllowed }),
          a4("button", { type: "submit", class: "button", disabled: !isAllowed, children: [
            a4(Icon, { name: "fork" }),
            " Try"
          ] })
        ] })
      ]
    }
  );
}
function Buttons({ payload: payload2, press }) {
  const buttons = payload2?.buttons;
  if (!buttons?.length) return null;
  return a4("span", { class: "choices", children: buttons.map((one) => press ? a4("button", { type: "button", class: "button slim", onClick: () => press(one.value), children: one.label }, one.value) : a4("span", { class: "tag tone-accent", children: one.label }, one.value)) });
}

// console/pages/sessions.tsx
var STATES4 = ["person", "running", "waiting", "suspended", "idle"];
var WORDS2 = { person: "With a person", running: "Answering", waiting: "Waits for a message", suspended: "Suspended", idle: "Idle" };
function Standing({ session }) {
  const icon = { waiting: "parked", person: "person", running: "running" };
  return a4(State, { name: icon[session.state] ?? session.state, word: session.state === "person" ? `With ${session.person}` : WORDS2[session.state] ?? phrase(session.state) });
}
function Sessions() {
  const [user, state, revision] = [param("user"), param("state"), param("revision")];
  const found = useLoad((signal) => call("GET /v1/sessions", { query: { tenant: scope.value, limit: 500, ...user ? { user } : {} }, signal }), [scope.value, user], { when: of("session", "execution") });
  return a4($, { children: [
    a4(Head, { title: "Sessions", sub: "Conversations. A session that waits for a person costs nothing and survives restarts." }),
    a4(Search, { fields: { user: "user", revision: "revision" } }),
    a4(Show, { of: found, children: (data) => {
      const rows = data.items.filter((row) => (!state || row.state === state) && (!revision || (row.revision ?? "").includes(revision)));
      if (state === "person") rows.sort((one, other) => Date.parse(one.since ?? one.active_at) - Date.parse(other.since ?? other.active_at));
      return a4($, { children: [
        a4("nav", { class: "strip", "aria-label": "States", children: [
          a4("a", { href: here({ state: null }), "aria-current": state ? void 0 : "true", children: [
            "All ",
            a4("b", { children: count(data.items.length) })
          ] }),
          STATES4.map((one) => a4("a", { href: here({ state: one }), "aria-current": one === state ? "true" : void 0, children: [
            WORDS2[one],
            " ",
            a4("b", { children: count(data.items.filter((row) => row.state === one).length) })
          ] }, one))
        ] }),
        rows.length ? a4(List2, { rows }) : data.items.length ? a4(Notice, { icon: "search", title: "No session fits" }) : a4(None, {})
      ] });
    } })
  ] });
}
function None() {
  return a4(Empty, { icon: "session", title: "Nobody has written yet", command: "holdfast dev examples/packs/support", children: "Sessions appear when somebody writes to a deployment or a Python conversation." });
}
function List2({ rows }) {
  return a4(Card, { children: a4(
    Table,
    {
      label: "Sessions",
      rows,
      keyOf: (row) => row.id,
      href: (row) => to(["sessions", row.id]),
      columns: [
        { id: "state", label: "State", cell: (row) => a4(Standing, { session: row }) },
        { id: "user", label: "User", cell: (row) => a4("a", { class: "strong", href: to(["sessions", row.id]), children: row.user }) },
        { id: "kind", label: "Conversation", drop: "narrow", cell: (row) => row.kind },
        ...rows.some((row) => row.handover_reason) ? [{ id: "reason", label: "Wants", drop: "narrow", cell: (row) => row.handover_reason }] : [],
        { id: "endpoint", label: "Channel", drop: "medium", cell: (row) => row.endpoint || a4("span", { class: "faint", children: "API" }) },
        { id: "revision", label: "Revision", drop: "medium", cell: (row) => row.revision ?? a4("span", { class: "faint", children: "–" }) },
        { id: "turns", label: "Turns", kind: "num", drop: "narrow", cell: (row) => count(row.turn) },
        { id: "since", label: "In this state", kind: "num", drop: "narrow", cell: (row) => a4(Time, { at: row.since ?? row.active_at }) },
        { id: "active", label: "Active", kind: "num", cell: (row) => a4(Time, { at: row.active_at }) },
        { id: "tenant", label: "Tenant", drop: "medium", cell: (row) => row.tenant },
        { id: "id", label: "Id", kind: "id", drop: "medium", cell: (row) => a4(Id, { id: row.id, most: 16, href: to(["sessions", row.id]) }) }
      ]
    }
  ) });
}

// console/pages/session.tsx
function Session({ id }) {
  const path = { id };
  const query2 = { tenant: scope.value };
  const found = useLoad(
    async (signal) => {
      const session = await call("GET /v1/sessions/{id}", { path, query: query2, signal });
      const [lines, memory, explain] = await Promise.all([
        call("GET /v1/sessions/{id}/transcript", { path, query: { ...query2, limit: 500 }, signal }),
        soft(call("GET /v1/sessions/{id}/state", { path, query: query2, signal })),
        session.execution ? soft(call("GET /v1/executions/{id}/explain", { path: { id: session.execution }, query: query2, signal })) : null
      ]);
      return { session, lines: lines.items, memory: memory?.items ?? [], why: explain?.why ?? "" };
    },
    [id, scope.value],
    { when: (change) => change.data.id === id || change.type === "execution" }
  );
  A2(() => seen(`Session ${id}`, to(["sessions", id])), [id]);
  return a4(Show, { of: found, children: (data) => a4(Found6, { facts: data }) });
}
function Found6({ facts: { session, lines, memory, why } }) {
  const at = param("line") ? Number(param("line")) : null;
  const line = lines.find((one) => one.number === at);
  const last2 = lines.at(-1)?.number ?? 0;
  const recorded = useLoad((signal) => soft(call("GET /v1/sessions/{id}/moment", { path: { id: session.id }, query: { tenant: scope.value, ...at ? { line: at } : {} }, signal })), [session.id, at, last2]);
  const kept2 = T2(null);
  kept2.current = recorded.data ?? kept2.current;
  const [forked, setForked] = d2(null);
  const moment2 = forked ?? kept2.current;
  return a4($, { children: [
    a4(
      Head,
      {
        up: { label: "Sessions", page: "sessions" },
        title: session.user,
        sub: a4("span", { class: "head-facts", children: [
          a4(Standing, { session }),
          a4(Id, { id: session.id, most: 40, copy: true }),
          a4("span", { children: [
            "active ",
            a4(Time, { at: session.active_at })
          ] })
        ] }),
        children: sessionActions(session).map((action) => a4(Button, { action }, action.verb))
      }
    ),
    a4("div", { class: "session-grid", children: [
      a4(Card, { title: "Transcript", class: "transcript", children: [
        a4(Scrub, { last: last2, at }),
        a4(Transcript, { lines, chosen: at }),
        a4(Composer, { session })
      ] }),
      a4("div", { class: "column", children: [
        a4(FlowPicture, { session, moment: moment2 }),
        moment2 && a4(Variables, { moment: moment2, isForked: forked !== null }),
        moment2 && seesPayloads() && a4(Rehearse, { session, line: at ?? last2, show: setForked }),
        a4(Card, { title: "Now", children: a4("div", { class: "pad stack", children: [
          why && a4("p", { children: why }),
          a4(
            Facts,
            {
              rows: [
                ["Conversation", session.kind],
                !!moment2?.at && ["Node", a4("code", { children: moment2.at.node })],
                session.execution !== null && ["Run", a4(Id, { id: session.execution, href: to(["runs", session.execution]) })],
                session.revision !== null && ["Revision", session.revision],
                ["Channel", session.endpoint || "API"],
                ["Environment", session.env],
                ["Tenant", session.tenant],
                ["Turn", session.turn],
                session.buffered > 0 && ["Messages that wait", session.buffered],
                session.person !== null && ["Person", `${session.person}${session.handover_reason ? `: ${session.handover_reason}` : ""}`],
                ["Started", a4(Time, { at: session.created_at })]
              ]
            }
          )
        ] }) }),
        line && a4(Card, { title: `Line ${line.number}`, extra: a4("a", { class: "link", href: here({ line: null }), children: "Back to now" }), children: a4("div", { class: "pad stack", children: [
          a4(
            Facts,
            {
              rows: [
                ["At", exact(line.at)],
                line.turn !== null && ["Turn", line.turn],
                line.execution !== null && ["Run", a4(Id, { id: line.execution, href: to(["runs", line.execution]) })],
                line.delivery !== null && ["Delivery", line.delivery],
                line.author !== null && ["Author", line.author]
              ]
            }
          ),
          seesPayloads() && a4(Value, { value: line.payload })
        ] }) }),
        a4(Card, { title: "Memory", children: a4("div", { class: "pad stack", children: memory.length ? memory.map((one) => a4("div", { class: "pair-top", children: [
          a4("b", { children: one.name }),
          seesPayloads() ? a4(Value, { value: one.value }) : a4("span", { class: "faint", children: "hidden" })
        ] }, one.name)) : a4("span", { class: "faint", children: "It keeps nothing beyond this conversation." }) }) })
      ] })
    ] })
  ] });
}
function Scrub({ last: last2, at }) {
  const move = (line) => go(here({ line: line < last2 ? String(line) : null }), { replace: true });
  if (last2 < 2) return null;
  return a4("label", { class: "scrub", children: [
    a4("span", { class: "num", children: [
      "Line ",
      at ?? last2,
      " of ",
      last2
    ] }),
    a4("input", { type: "range", min: 1, max: last2, value: at ?? last2, "aria-valuetext": `Line ${at ?? last2}`, onInput: (event) => move(Number(event.currentTarget.value)) })
  ] });
}
function Variables({ moment: moment2, isForked }) {
  const names = Object.keys(moment2.vars);
  return a4(Card, { title: isForked ? "Variables in the simulator" : moment2.line ? `Variables after line ${moment2.line}` : "Variables", children: a4("div", { class: "pad stack", children: [
    names.map((name) => a4("div", { class: "pair-top", children: [
      a4("span", { children: [
        a4("b", { children: name }),
        " ",
        moment2.changed.includes(name) && a4(Tag, { tone: "accent", children: "changed" })
      ] }),
      seesPayloads() ? a4(Value, { value: moment2.vars[name] }) : a4("span", { class: "faint", children: "hidden" })
    ] }, name)),
    !names.length && a4("span", { class: "faint", children: "The flow has set none." })
  ] }) });
}
function Transcript({ lines, chosen: chosen2 }) {
  const box = T2(null);
  A2(() => {
    const element = box.current;
    if (element && chosen2 === null && element.scrollHeight - element.scrollTop - element.clientHeight < 200) element.scrollTop = element.scrollHeight;
  }, [lines.length]);
  if (!lines.length) return a4(Empty, { icon: "session", title: "Nothing was said yet" });
  return a4("ol", { class: "talk", ref: box, "aria-label": "Transcript", tabIndex: 0, children: lines.map((line) => a4("li", { class: `talk-${line.direction} ${line.number === chosen2 ? "chosen" : ""}`, children: [
    a4("a", { href: here({ line: line.number === chosen2 ? null : String(line.number) }), class: "bubble", "aria-label": `Line ${line.number}, ${line.direction === "in" ? "from the user" : "reply"}`, children: [
      line.author && a4("b", { class: "small", children: line.author }),
      a4("span", { class: "bubble-text", children: line.text || textOf2(line.payload) }),
      a4(Buttons, { payload: line.payload })
    ] }),
    a4("span", { class: "talk-foot", children: [
      a4("time", { datetime: line.at, title: exact(line.at), children: short(line.at) }),
      line.open && a4(Tag, { tone: "accent", children: "being written" }),
      line.delivery === "dead" && a4(Tag, { tone: "danger", children: "not delivered" }),
      line.delivery === "pending" && a4(Tag, { children: "sending" })
    ] })
  ] }, line.number)) });
}
function textOf2(payload2) {
  if (!seesPayloads()) return "hidden";
  return typeof payload2 === "string" ? payload2 : JSON.stringify(payload2);
}
function Composer({ session }) {
  const [problem, setProblem] = d2("");
  if (session.state !== "person") return null;
  const send2 = async (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    const text = String(new FormData(form).get("text") ?? "").trim();
    if (!text) return;
    try {
      await call("POST /v1/sessions/{id}/messages", { path: { id: session.id }, query: { tenant: scope.value }, body: { text, author: session.person ?? "operator", idempotency_key: crypto.randomUUID() } });
      form.reset();
      setProblem("");
      reloadAll();
    } catch (error) {
      setProblem(error instanceof Problem ? error.message : String(error));
    }
  };
  return a4("form", { class: "composer", onSubmit: send2, children: [
    a4("input", { name: "text", placeholder: `Answer as ${session.person}`, "aria-label": "Your message", autocomplete: "off", disabled: !may("operator") }),
    a4("button", { type: "submit", class: "button primary", disabled: !may("operator"), children: [
      a4(Icon, { name: "up" }),
      " Send"
    ] }),
    problem && a4("p", { class: "problem", children: problem })
  ] });
}
function sessionActions(session) {
  const path = { id: session.id };
  const id = quoted(session.id);
  const who = me.value?.name ?? me.value?.key ?? "operator";
  const handover = session.state === "person" ? {
    title: `Give the session of ${session.user} back`,
    verb: "Give back",
    icon: "retry",
    about: "The conversation continues where it was.",
    target: "POST /v1/sessions/{id}/handover",
    path,
    fields: [REASON],
    body: ({ reason }) => ({ to: "flow", reason }),
    cli: ({ reason }) => `sessions handover ${id} --back${option("reason", reason)}`,
    role: "operator",
    done: () => "The conversation continues."
  } : {
    title: `Take over the session of ${session.user}`,
    verb: "Take over",
    icon: "person",
    about: "Messages come to you; the conversation waits until you give it back.",
    target: "POST /v1/sessions/{id}/handover",
    path,
    fields: [{ name: "person", label: "Your name", kind: "text", initial: who }, REASON],
    body: ({ person, reason }) => ({ to: person, reason }),
    cli: ({ person, reason }) => `sessions handover ${id} ${quoted(person ?? "")}${option("reason", reason)}`,
    role: "operator",
    done: () => "You answer now."
  };
  return [
    handover,
    {
      title: `End the conversation with ${session.user}`,
      verb: "End",
      icon: "slash",
      about: "Its run is cancelled. The next message starts a new conversation.",
      target: "POST /v1/sessions/{id}/end",
      path,
      fields: [REASON],
      body: ({ reason }) => ({ reason }),
      cli: ({ reason }) => `sessions end ${id}${option("reason", reason)}`,
      role: "operator",
      isDangerous: true,
      done: () => "The conversation has ended."
    },
    {
      title: `Erase the session of ${session.user}`,
      verb: "Erase",
      icon: "trash",
      about: "The transcript and everything that the session keeps are deleted for good.",
      target: "DELETE /v1/sessions/{id}",
      path,
      cli: () => `sessions erase ${id} --yes`,
      role: "operator",
      isDangerous: true,
      typed: session.user,
      done: () => "Erased.",
      after: () => go(to(["sessions"]))
    }
  ];
}

// console/pages/settings.tsx
var DAY_MS3 = 864e5;
function Settings() {
  const found = useLoad(
    async (signal) => {
      const [retention, streams, ring] = await Promise.all([soft(call("GET /v1/settings/retention", { signal })), soft(call("GET /v1/settings/streams", { signal })), soft(call("GET /v1/admin/keyring", { signal }))]);
      return { retention: retention?.items ?? [], streams: streams?.items ?? [], ring };
    },
    []
  );
  return a4($, { children: [
    a4(Head, { title: "Settings" }),
    a4("div", { class: "columns", children: [
      a4(Card, { title: "This browser", children: a4("div", { class: "pad stack", children: [
        a4(Choice, { label: "Theme", value: theme.value, options: ["auto", "light", "dark"], change: (value) => theme.value = value }),
        a4(Choice, { label: "Times", value: zone.value, options: ["local", "utc"], change: (value) => zone.value = value }),
        a4("p", { class: "hint", children: [
          "Now: ",
          exact(now.value)
        ] }),
        a4("label", { class: "field check", children: [
          a4("input", { type: "checkbox", checked: singleKeys.value, onChange: (event) => singleKeys.value = event.currentTarget.checked }),
          a4("span", { children: "Single keys do something, such as j and k" })
        ] })
      ] }) }),
      a4(Card, { title: "You and this server", children: a4("div", { class: "pad", children: a4(
        Facts,
        {
          rows: [
            ["Version", me.value?.version],
            ["Access", me.value?.access === "open" ? "open: no key is needed on this machine" : "by API key"],
            ["Key", me.value?.key ? `${me.value.name ?? ""} ${me.value.key}` : "none"],
            ["Tenant", me.value?.key_tenant ?? "all"],
            ["Roles", me.value?.roles.map((role) => a4(Tag, { children: role }, role))],
            !!me.value?.session_expires_at && ["Session until", a4(Time, { at: me.value.session_expires_at })],
            ["Features", me.value?.features.map((name) => a4(Tag, { children: phrase(name) }, name))]
          ]
        }
      ) }) })
    ] }),
    a4(Show, { of: found, children: ({ retention, streams, ring }) => a4($, { children: [
      retention.length > 0 && a4(Card, { title: "How long ended runs are kept", children: a4(
        Table,
        {
          label: "Retention",
          rows: retention,
          keyOf: (row) => row.tenant ?? "",
          columns: [
            { id: "tenant", label: "Tenant", cell: (row) => row.tenant ?? "all" },
            ...["completed", "failed", "cancelled", "expired", "skipped"].map((state) => ({ id: state, label: phrase(state), kind: "num", drop: state === "completed" || state === "failed" ? void 0 : "narrow", cell: (row) => row.keep_ms[state] === void 0 ? "–" : span(row.keep_ms[state]) })),
            { id: "act", label: "Actions", kind: "actions", cell: (row) => a4(Button, { action: setRetention(row), tone: "slim" }) }
          ]
        }
      ) }),
      streams.length > 0 && a4(Card, { title: "How much a stream keeps", children: a4(
        Table,
        {
          label: "Streams",
          rows: streams,
          keyOf: (row) => row.tenant ?? "",
          columns: [
            { id: "tenant", label: "Tenant", cell: (row) => row.tenant ?? "all" },
            { id: "frames", label: "Frames", kind: "num", cell: (row) => row.frames === null ? "–" : count(row.frames) },
            { id: "bytes", label: "Size", kind: "num", cell: (row) => row.bytes === null ? "–" : bytes(row.bytes) },
            { id: "age", label: "Age", kind: "num", cell: (row) => row.age_ms === null ? "–" : span(row.age_ms) },
            { id: "tails", label: "Readers", kind: "num", cell: (row) => row.tails === null ? "–" : count(row.tails) }
          ]
        }
      ) }),
      ring && a4(Card, { title: "Keys that sign tokens", children: a4(
        Table,
        {
          label: "Signing keys",
          rows: ring.keys,
          keyOf: (row) => row.kid,
          columns: [
            { id: "kid", label: "Key", cell: (row) => a4("code", { children: row.kid }) },
            { id: "state", label: "Use", cell: (row) => row.kid === ring.current ? a4(Tag, { tone: "good", children: "signs" }) : a4(Tag, { children: "verifies" }) },
            { id: "fingerprint", label: "Fingerprint", drop: "narrow", cell: (row) => a4("code", { children: row.fingerprint }) },
            { id: "until", label: "Until", cell: (row) => a4(Time, { at: row.until }) }
          ]
        }
      ) })
    ] }) })
  ] });
}
function Choice({ label, value, options: options2, change }) {
  return a4("fieldset", { class: "choice", children: [
    a4("legend", { children: label }),
    options2.map((option2) => a4("label", { children: [
      a4("input", { type: "radio", name: label, checked: option2 === value, onChange: () => change(option2) }),
      a4("span", { children: option2 === "utc" ? "UTC" : phrase(option2) })
    ] }, option2))
  ] });
}
function setRetention(setting) {
  const states = ["completed", "failed"];
  return {
    title: `Change how long runs of ${setting.tenant ?? "all tenants"} are kept`,
    verb: "Change",
    icon: "edit",
    target: "PUT /v1/settings/retention",
    fields: states.map((state) => ({ name: state, label: `${phrase(state)}, days`, kind: "number", initial: setting.keep_ms[state] === void 0 ? "" : String(setting.keep_ms[state] / DAY_MS3) })),
    body: (values) => ({ ...setting.tenant ? { tenant: setting.tenant } : {}, keep_ms: Object.fromEntries(states.filter((state) => values[state]).map((state) => [state, Number(values[state]) * DAY_MS3])) }),
    cli: (values) => `retention set${setting.tenant ? ` --tenant ${setting.tenant}` : ""}${states.filter((state) => values[state]).map((state) => ` ${state}=${values[state]}d`).join("")}`,
    role: "admin",
    done: () => "The retention is changed."
  };
}

// console/pages/tenant.tsx
var MOST_SESSIONS = 2e3;
var SHOWN2 = 10;
function Tenant({ name }) {
  const found = useLoad(
    async (signal) => {
      const query2 = { tenant: name };
      const [counts, everybody, quotas, budgets, sessions] = await Promise.all([
        call("GET /v1/counts", { query: query2, signal }),
        soft(call("GET /v1/counts", { query: {}, signal })),
        call("GET /v1/quotas", { query: { ...query2, limit: 200 }, signal }),
        call("GET /v1/budgets", { query: { ...query2, limit: 200 }, signal }),
        all((cursor) => call("GET /v1/sessions", { query: { ...query2, limit: 500, ...cursor ? { cursor } : {} }, signal }), MOST_SESSIONS)
      ]);
      return { counts: counts.items, everybody: everybody?.items ?? counts.items, quotas: quotas.items, budgets: budgets.items, sessions };
    },
    [name],
    { when: of("execution", "session"), every: 1e4 }
  );
  return a4($, { children: [
    a4(Head, { title: name, sub: "What this tenant runs, may use, and spends." }),
    a4(Show, { of: found, children: ({ counts, everybody, quotas, budgets, sessions }) => {
      const open = (items) => items.filter((item) => !ENDED.has(item.state)).reduce((sum2, item) => sum2 + item.count, 0);
      const whole = open(everybody);
      const kinds = /* @__PURE__ */ new Map();
      const states = {};
      for (const { kind, state, count: many } of counts) {
        states[state] = (states[state] ?? 0) + many;
        kinds.set(kind, { ...kinds.get(kind), [state]: (kinds.get(kind)?.[state] ?? 0) + many });
      }
      const sum = (of2) => Object.values(of2).reduce((total, one) => total + one, 0);
      const talkers = [...sessions].sort((one, other) => other.turn - one.turn).slice(0, SHOWN2);
      return a4($, { children: [
        a4(Card, { title: "Share", children: a4("div", { class: "pad stack", children: a4(Facts, { rows: [["All runs", a4(StateBar, { counts: states })], ["Open runs", a4("a", { href: to(["runs"], { tenant: name }), children: count(open(counts)) })], ["Of all open runs", whole ? percent(Math.round(open(counts) / whole * 1e4)) : "–"], ["Conversations", a4("a", { href: to(["sessions"], { tenant: name }), children: count(sessions.length) })]] }) }) }),
        a4("div", { class: "columns", children: [
          a4(Card, { title: "Spend", children: a4("div", { class: "pad stack", children: [
            budgets.map((budget) => a4("div", { class: "stack-s", children: [
              a4("a", { class: "strong", href: to(["limits"], { tenant: name, id: budget.id }), children: budget.id }),
              a4(Spend, { budget })
            ] }, budget.id)),
            !budgets.length && a4("span", { class: "faint", children: "No budget: nothing counts what it spends." })
          ] }) }),
          a4(Card, { title: "Quotas", children: a4("div", { class: "pad stack", children: [
            quotas.map((quota) => a4("span", { class: "budget-row", children: [
              a4("a", { class: "clip", href: to(["limits"], { tenant: name, id: quota.id }), children: quota.id }),
              a4(Meter, { value: quota.running, most: quota.max_concurrent ?? 0, tone: quota.waiting ? "warn" : "accent", label: `${quota.running} running` }),
              a4("span", { class: "num", children: [
                count(quota.running),
                " / ",
                quota.max_concurrent === null ? "no limit" : count(quota.max_concurrent),
                ", ",
                count(quota.waiting),
                " waiting"
              ] })
            ] }, quota.id)),
            !quotas.length && a4("span", { class: "faint", children: "No quota holds it back." })
          ] }) })
        ] }),
        a4("div", { class: "columns", children: [
          a4(Card, { title: "Tasks", children: a4(
            Table,
            {
              label: "Tasks",
              rows: [...kinds].sort((one, other) => sum(other[1]) - sum(one[1])).slice(0, SHOWN2),
              keyOf: ([kind]) => kind,
              href: ([kind]) => to(["runs"], { tenant: name, kind }),
              columns: [
                { id: "kind", label: "Task", cell: ([kind]) => a4("a", { class: "strong", href: to(["runs"], { tenant: name, kind }), children: kind }) },
                { id: "states", label: "States", cell: ([, of2]) => a4("span", { title: Object.entries(of2).map(([state, many]) => `${phrase(state)} ${many}`).join(", "), children: a4(StateBar, { counts: of2 }) }) },
                { id: "sum", label: "Runs", kind: "num", cell: ([, of2]) => count(sum(of2)) }
              ]
            }
          ) }),
          a4(Card, { title: "Top talkers", children: talkers.length ? a4(
            Table,
            {
              label: "Top talkers",
              rows: talkers,
              keyOf: (row) => row.id,
              columns: [
                { id: "user", label: "User", cell: (row) => a4("a", { class: "strong", href: to(["sessions", row.id], { tenant: name }), children: row.user }) },
                { id: "kind", label: "Conversation", drop: "narrow", cell: (row) => row.kind },
                { id: "turn", label: "Turns", kind: "num", cell: (row) => count(row.turn) }
              ]
            }
          ) : a4("p", { class: "pad faint", children: "Nobody has talked yet." }) })
        ] })
      ] });
    } })
  ] });
}

// console/pages/workers.tsx
function Workers() {
  const found = useLoad(
    async (signal) => {
      const [workers, lanes] = await Promise.all([
        all((cursor) => call("GET /v1/workers", { query: { limit: 500, ...cursor ? { cursor } : {} }, signal })),
        call("GET /v1/lanes", { query: { limit: 500 }, signal })
      ]);
      return { workers, lanes: lanes.items };
    },
    [scope.value],
    // Heartbeats are no changes, so the times of the last ones have to be read.
    { when: of("worker"), every: 8e3 }
  );
  const history2 = useHistory("lane");
  const ended = (lane) => sumOf(history2.filter((row) => row.name === lane), "completed", "failed");
  return a4($, { children: [
    a4(Head, { title: "Workers and lanes", sub: "A worker claims runs from lanes. What waits in a lane without a worker waits until one comes." }),
    a4(Show, { of: found, children: ({ workers, lanes }) => a4($, { children: [
      a4(Card, { title: "Lanes", extra: a4("span", { class: "faint small", children: plural(lanes.length, "lane") }), children: a4(
        Table,
        {
          label: "Lanes",
          rows: lanes,
          keyOf: (row) => row.lane,
          chosen: param("lane"),
          columns: [
            { id: "lane", label: "Lane", cell: (row) => a4("a", { class: "strong", href: to(["runs"], { lane: row.lane }), children: row.lane }) },
            { id: "setting", label: "State", cell: (row) => a4(State, { name: row.setting === "open" ? "ready" : row.setting, word: phrase(row.setting) }) },
            { id: "workers", label: "Workers", kind: "num", cell: (row) => row.workers ? row.workers : a4("span", { class: "tone-warn toned", children: "none" }) },
            { id: "waiting", label: "Waiting", kind: "num", cell: (row) => count(row.counts.waiting ?? 0) },
            { id: "active", label: "Active", kind: "num", drop: "narrow", cell: (row) => count(row.counts.active ?? 0) },
            { id: "hour", label: "Ended, last hour", drop: "medium", width: "18%", cell: (row) => a4(Sparkline, { values: ended(row.lane), label: "Ended" }) },
            { id: "bar", label: "All states", drop: "medium", width: "18%", cell: (row) => a4(StateBar, { counts: row.counts }) },
            { id: "act", label: "Actions", kind: "actions", drop: "narrow", cell: (row) => laneActions(row).map((action) => a4(Button, { action, tone: "slim" }, action.verb)) }
          ]
        }
      ) }),
      a4(Card, { title: "Workers", extra: a4("span", { class: "faint small", children: plural(workers.length, "worker") }), children: workers.length ? a4(
        Table,
        {
          label: "Workers",
          rows: workers,
          keyOf: (row) => row.instance,
          chosen: param("id"),
          columns: [
            { id: "instance", label: "Instance", kind: "id", cell: (row) => a4(Id, { id: row.instance, most: 26, copy: true }) },
            { id: "state", label: "State", cell: (row) => a4(State, { name: stateOf2(row) }) },
            { id: "lanes", label: "Lanes", drop: "narrow", cell: (row) => row.lanes.join(", ") },
            { id: "capabilities", label: "Capabilities", drop: "medium", cell: (row) => row.capabilities.map((name) => a4(Tag, { children: name }, name)) },
            {
              id: "busy",
              label: "Slots",
              drop: "narrow",
              cell: (row) => a4("span", { class: "pair", children: [
                a4(Meter, { value: row.busy, most: row.slots, label: `${row.busy} of ${row.slots} slots busy` }),
                a4("span", { class: "num", children: [
                  row.busy,
                  "/",
                  row.slots
                ] })
              ] })
            },
            { id: "beat", label: "Last seen", drop: "narrow", kind: "num", cell: (row) => a4(Time, { at: row.heartbeat_at }) },
            { id: "since", label: "Since", drop: "wide", kind: "num", cell: (row) => a4(Time, { at: row.registered_at }) },
            { id: "act", label: "Actions", kind: "actions", drop: "narrow", cell: (row) => !row.draining && a4(Button, { action: drainWorker(row), tone: "slim" }) }
          ]
        }
      ) : a4(Empty, { icon: "worker", title: "No worker is connected", command: "holdfast worker app:app", children: tenant.value ? "Workers of other tenants are not shown." : "Runs wait until one is." }) })
    ] }) })
  ] });
}
function stateOf2(worker) {
  if (Date.parse(worker.expires_at) < now.value) return "lost";
  return worker.draining ? "draining" : "live";
}
function laneActions(lane) {
  const make = (verb, label, icon, about) => ({
    title: `${label} lane ${lane.lane}`,
    verb: label,
    icon,
    about,
    target: `POST /v1/lanes/{lane}/${verb}`,
    path: { lane: lane.lane },
    cli: () => `lanes ${verb} ${quoted(lane.lane)}`,
    role: "operator",
    isDangerous: verb === "drain",
    done: () => `Lane ${lane.lane}: ${verb}.`
  });
  if (lane.setting !== "open") return [make("resume", "Resume", "play", "Workers claim from it again, and submissions are accepted.")];
  return [make("pause", "Pause", "pause", "Workers finish what they hold and claim nothing more from it; submissions wait."), make("drain", "Drain", "timer", "New submissions are refused; what is there runs to its end.")];
}
function drainWorker(worker) {
  return {
    title: `Drain worker ${worker.instance}`,
    verb: "Drain",
    icon: "timer",
    about: `It finishes ${plural(worker.busy, "run")} and claims nothing more.`,
    target: "POST /v1/workers/{instance}/drain",
    path: { instance: worker.instance },
    cli: () => `workers drain ${quoted(worker.instance)}`,
    role: "operator",
    done: () => "The worker drains."
  };
}

// console/parts/toasts.tsx
function Toasts() {
  return a4("div", { class: "toasts", role: "status", "aria-live": "polite", children: toasts.value.map((toast) => a4("div", { class: `toast tone-${toast.tone}`, children: [
    a4(Icon, { name: toast.tone === "good" ? "check" : toast.tone === "danger" ? "cause" : "info" }),
    a4("span", { children: toast.text }),
    a4("button", { type: "button", class: "icon-button quiet", "aria-label": "Dismiss", onClick: () => dismiss(toast.id), children: a4(Icon, { name: "close" }) })
  ] }, toast.id)) });
}

// console/app.tsx
var PAGES2 = {
  "": Overview,
  runs: ({ path: [id] }) => id ? a4(Run, { id }, id) : a4(Runs, {}),
  new: NewRun,
  inbox: Inbox,
  causes: Causes,
  graphs: ({ path: [id] }) => id ? a4(Graph, { id }, `${scope.value} ${id}`) : a4(Graphs, {}),
  sessions: ({ path: [id] }) => id ? a4(Session, { id }, id) : a4(Sessions, {}),
  deployments: ({ path: [env, id] }) => env && id ? a4(Deployment, { env, id }, `${env} ${id}`) : a4(Deployments, {}),
  workers: Workers,
  queues: ({ path: [name] }) => name ? a4(Queue, { name }, name) : a4(Queues2, {}),
  schedules: Schedules,
  limits: Limits,
  archive: Archive,
  leases: Leases,
  keys: Keys,
  audit: Audit,
  settings: Settings,
  tenants: ({ path: [name] }) => name ? a4(Tenant, { name }, name) : a4(Overview, {})
};
function App() {
  useKeys([
    { keys: "Ctrl+k", about: "Find", run: () => isPaletteOpen.value = true },
    { keys: "/", about: "Find", run: () => isPaletteOpen.value = true },
    { keys: "?", about: "This help", run: () => isHelpOpen.value = true }
  ]);
  const title = ENTRIES.find((entry) => entry.page === page.value)?.label ?? "Console";
  A2(() => {
    const thing = place.value.path[1];
    document.title = `${thing ? `${thing} · ` : ""}${title} · Holdfast`;
  }, [place.value]);
  if (mustLogIn.value) return a4(Login, {});
  return a4($, { children: [
    a4(Shell, { children: a4(Content, {}) }),
    a4(Palette, {}),
    a4(Help, {}),
    a4(ActionDialog, {}),
    a4(Toasts, {})
  ] });
}
function Content() {
  const Shown = PAGES2[page.value];
  if (meProblem.value) return a4(Failed, { problem: meProblem.value, retry: () => void identify() });
  if (!me.value) return a4(Loading, {});
  if (!Shown) return a4(Empty, { icon: "search", title: "There is no such page", children: "The address names a page that the console does not have." });
  return a4(Shown, { path: place.value.path.slice(1) }, page.value);
}

// console/main.tsx
followLinks();
handleKeys();
var late = new Promise((resolve) => setTimeout(resolve, 150));
void Promise.race([Promise.all([readEarly(), identify()]), late]).then(() => {
  Q(a4(App, {}), document.body);
  follow();
  watchBadges();
});
